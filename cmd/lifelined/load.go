package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lifeline/server/config"
)

const configVariable = config.EnvironmentPrefix + "CONFIG"

// load reads every source and returns the effective, valid configuration.
func load(cmd *cobra.Command, around surroundings) (config.Config, error) {
	file, text, err := readFile(cmd, around.environment)
	if err != nil {
		return config.Config{}, err
	}
	cfg, err := config.Load(config.Sources{File: file, YAML: text, Environment: around.environment, Flags: cmd.Flags()})
	if err != nil {
		return config.Config{}, fmt.Errorf("configuration:\n%w", err)
	}
	machine, err := around.machine()
	if err != nil {
		return config.Config{}, err
	}
	cfg = cfg.Resolve(machine)
	if err := cfg.Validate(machine); err != nil {
		return config.Config{}, fmt.Errorf("configuration:\n%w", err)
	}
	_, err = cfg.Auth.Verifier()
	_, unread := password(cfg.Routes.PasswordFile)
	if err := errors.Join(err, unread); err != nil {
		return config.Config{}, fmt.Errorf("configuration:\n%w", err)
	}
	return cfg, nil
}

// readFile returns the YAML file that --config or the environment names and its content, and nothing without one.
func readFile(cmd *cobra.Command, environment []string) (path string, text []byte, err error) {
	path, err = cmd.Flags().GetString("config")
	if err != nil {
		return "", nil, err
	}
	if !cmd.Flags().Changed("config") {
		path = variable(environment, configVariable)
	}
	if path == "" {
		return "", nil, nil
	}
	if text, err = os.ReadFile(path); err != nil {
		return "", nil, fmt.Errorf("configuration file: %w", err)
	}
	return path, text, nil
}

func variable(environment []string, name string) string {
	for _, pair := range slices.Backward(environment) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// unknown lists variables that look like settings and are none.
func unknown(environment []string) []string {
	return slices.DeleteFunc(config.Unknown(environment), func(name string) bool { return name == configVariable })
}
