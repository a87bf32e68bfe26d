package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCheck(around surroundings) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and print what would be in force",
		Long: `check reads every source as the server does, reports every fault at once (exit code 2), and prints the effective
values as YAML, which --config reads back. It starts nothing.`,
		Example: `  lifelined check
  lifelined check --config /etc/lifeline.yaml
  lifelined check --max-connections 100000 > effective.yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd, around)
			if err != nil {
				return err
			}
			for _, name := range unknown(around.environment) {
				fmt.Fprintf(around.stderr, "lifelined: %s is set, but is no setting\n", name)
			}
			text, err := cfg.YAML()
			if err != nil {
				return err
			}
			if _, err := around.stdout.Write(text); err != nil {
				return fmt.Errorf("print configuration: %w", err)
			}
			return nil
		},
	}
}
