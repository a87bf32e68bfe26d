// Command lifelinectl is the operator's and tester's tool: it sends, listens, makes tokens and reads frames. It uses only
// what the author of an app has: the wire and the reference client.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// surroundings is what a command sees of its process.
type surroundings struct {
	environment []string
	stdin       io.Reader
	stdout      io.Writer
	stderr      io.Writer
}

// variable returns a variable's value, empty without one.
func (s surroundings) variable(name string) string {
	value := ""
	for _, pair := range s.environment {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v
		}
	}
	return value
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default action is restored, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, surroundings{os.Environ(), os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, around surroundings, args []string) int {
	root := newRoot(around)
	root.SetArgs(args)
	root.SetFlagErrorFunc(flagFault(args))
	root.SetOut(around.stdout)
	root.SetErr(around.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(around.stderr, "lifelinectl: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return exitCode(err)
}

func newRoot(around surroundings) *cobra.Command {
	root := &cobra.Command{
		Use:   "lifelinectl",
		Short: "Talk to a Lifeline server from the command line",
		Long: `lifelinectl sends and receives messages, makes tokens and reads frames.

The commands that dial take --server, or LIFELINE_SERVER, or the server on this machine. They say who they are with
--as alice (a development token, which only a server on loopback believes), with --as alice --key FILE (a token signed
here), or with --token, or with LIFELINE_TOKEN.

Exit codes:
` + exitCodes,
		Example: `  lifelinectl listen --as bob --device phone
  seq 1 100000 | lifelinectl send --as alice --to bob
  lifelinectl send --as alice --to bob "dinner at eight?"`,
		Args:          noCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return usage(fmt.Errorf("a command is missing"))
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newSend(around), newListen(around), newToken(around), newDecode(around),
		newChat(around), newDevices(around), newPresence(around), newTrace(around), newStore(around))
	return root
}
