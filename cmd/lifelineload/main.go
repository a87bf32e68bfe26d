// Command lifelineload puts load on a Lifeline server, verifies what comes back, and says how late it came.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"lifeline/loadtest"
)

// surroundings is what a command sees of its process.
type surroundings struct {
	server string // LIFELINE_SERVER, or the server on this machine
	stdout io.Writer
	stderr io.Writer
}

const localServer = "tcp4://127.0.0.1:7400"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default action is restored, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	server := localServer
	if s, _, _ := strings.Cut(os.Getenv("LIFELINE_SERVER"), ","); s != "" { // lifelinectl takes several
		server = s
	}
	os.Exit(execute(ctx, surroundings{server, os.Stdout, os.Stderr}, os.Args[1:]))
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, around surroundings, args []string) int {
	root := newRoot(around)
	root.SetArgs(args)
	root.SetFlagErrorFunc(flagFault(args))
	root.SetOut(around.stdout)
	root.SetErr(around.stderr)
	err := root.ExecuteContext(ctx)
	if errors.Is(err, loadtest.ErrUnreached) {
		err = fmt.Errorf("%w; is lifelined running there? --server names another. NO_FREE_PORT: --source names other addresses of this machine", err)
	}
	if err != nil {
		fmt.Fprintf(around.stderr, "lifelineload: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return exitCode(err)
}

func newRoot(around surroundings) *cobra.Command {
	root := &cobra.Command{
		Use:   "lifelineload",
		Short: "Put load on a Lifeline server and verify what comes back",
		Long: `lifelineload is many devices at once. It measures, and it verifies while it measures: what was lost, out of order or stored
twice makes it fail. It logs in with development tokens, which only a server on loopback believes.

Both ends share the machine when the server is here, and both need a descriptor for each connection (ulimit -n).

Exit codes:
` + exitCodes,
		Example: `  lifelineload idle --connections 15000 --rate 2000 --hold 60s
  lifelineload chat --pairs 256 --window 4 --duration 15s --size 128
  lifelineload chat --pairs 256 --rate 15000 --duration 60s -o json`,
		Args:          noArgs,
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
	root.AddCommand(newIdle(around), newChat(around), newSimulate(around))
	return root
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

// noArgs refuses what is no command and no flag.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("unknown command %q; %s --help says what there is", args[0], cmd.CommandPath()))
	}
	return nil
}
