package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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

// notReached says why the server could not be used for so long: it refused, or was not there.
func notReached(cause error, within time.Duration) error {
	if refused := (*client.RefusedError)(nil); errors.As(cause, &refused) {
		return cause
	}
	if cause == nil {
		cause = errors.New("no answer")
	}
	return unreached(fmt.Errorf("the server was not reached for %v: %w; is lifelined running there? --server names another", within, cause))
}

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
	case strings.HasPrefix(err.Error(), "required flag"):
		return exitUsage // cobra has no type for it
	}
	return exitFailed
}

// exactly is cobra's argument check with the exit code of usage.
func exactly(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(fmt.Errorf("%w; usage: %s", err, cmd.UseLine()))
		}
		return nil
	}
}

// noCommand refuses what is no command.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("unknown command %q; %s --help says what there is", args[0], cmd.CommandPath()))
	}
	return nil
}

// flagFault is the fault of a command line that cobra could not read. It looks at flags first, so a command that is not
// there shows as a flag that is not.
func flagFault(args []string) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		if !cmd.HasParent() && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			err = fmt.Errorf("unknown command %q", args[0])
		}
		return usage(fmt.Errorf("%w; %s --help says what there is", err, cmd.CommandPath()))
	}
}
