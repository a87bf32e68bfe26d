package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"lifeline/protocol/client"
)

// Exit codes. Scripts rely on them.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitUnreached   = 4
	exitInterrupted = 130
)

const exitCodes = `  0    done
  1    failed
  2    the command line is wrong; nothing was done
  3    the server refused: the token, the session, or a message
  4    the server could not be reached in time
  130  interrupted before the work was done`

// coded is an error that decides the exit code.
type coded struct {
	code int
	err  error
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }

func usage(err error) error       { return &coded{exitUsage, err} }
func unreached(err error) error   { return &coded{exitUnreached, err} }
func interrupted(err error) error { return &coded{exitInterrupted, err} }

func exitCode(err error) int {
	var code *coded
	var refused *client.RefusedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &refused):
		return exitRefused
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case strings.HasPrefix(err.Error(), "unknown command"), strings.HasPrefix(err.Error(), "required flag"):
		return exitUsage // cobra has no type for these
	}
	return exitFailed
}

// exactly is cobra's argument check with the exit code of usage.
func exactly(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(err)
		}
		return nil
	}
}
