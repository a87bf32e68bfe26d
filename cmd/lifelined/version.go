package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion(around surroundings) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version and how it was built",
		Example: `  lifelined version`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return fmt.Errorf("the binary holds no build information")
			}
			fmt.Fprintln(around.stdout, versionLine(info))
			return nil
		},
	}
}

// versionLine says what a report of a fault or a figure needs: revision, Go, cgo.
func versionLine(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	words := []string{"lifelined", info.Main.Version}
	if revision := settings["vcs.revision"]; revision != "" {
		words = append(words, "revision "+revision)
	}
	if settings["vcs.modified"] == "true" {
		words = append(words, "modified")
	}
	words = append(words, info.GoVersion)
	if cgo := settings["CGO_ENABLED"]; cgo != "" {
		words = append(words, "cgo="+cgo)
	}
	return strings.Join(words, " ")
}
