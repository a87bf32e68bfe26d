// Command lifelined is the Lifeline server.
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

	"lifeline/server/config"
)

// Exit codes. A script may rely on them.
const (
	exitFailed = 1 // the node ended by a fault
	exitUsage  = 2 // the command line or the configuration is wrong; nothing was started
)

// surroundings is what a command sees of its process.
type surroundings struct {
	environment []string
	machine     func() (config.Machine, error)
	stdout      io.Writer
	stderr      io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default action is restored, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, surroundings{os.Environ(), config.ThisMachine, os.Stdout, os.Stderr}, os.Args[1:]))
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, around surroundings, args []string) int {
	root := newRoot(around)
	root.SetArgs(args)
	root.SetOut(around.stdout)
	root.SetErr(around.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; %s --help says what there is", err, cmd.CommandPath())
	})
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(around.stderr, "lifelined: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	if failed := (*failure)(nil); errors.As(err, &failed) {
		return exitFailed
	}
	return exitUsage
}

// noArgs refuses what is no command and no flag.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unknown command %q; %s --help says what there is", args[0], cmd.CommandPath())
	}
	return nil
}

// failure is the fault of a node that had been started; every other error is one of usage.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func newRoot(around surroundings) *cobra.Command {
	root := &cobra.Command{
		Use:   "lifelined",
		Short: "Lifeline server: keeps the lines of phones and delivers every message",
		Long: `lifelined keeps the long connections of phones and desktops, and delivers every message to every device of a user.

Without arguments it serves this machine only: clients on 127.0.0.1:7400, metrics and health on 127.0.0.1:7401, data in
./data, and tokens that prove nothing ("dev:alice"). SIGINT or SIGTERM stops it; a second one ends it at once.

Every setting has a flag, a variable (--data-dir is LIFELINE_DATA_DIR) and a key in the YAML file (data_dir). Flags win
over variables, variables over the file, the file over the defaults. Exit codes: 0 stopped when asked, 1 the node failed,
2 the configuration is wrong and nothing was started.`,
		Example: `  lifelined
  lifelined --store memory
  lifelined --config /etc/lifeline.yaml --log-format json
  LIFELINE_LISTEN=tcp4://0.0.0.0:7400 lifelined --auth-mode jwt --auth-key 2026:EdDSA:/etc/lifeline/2026.pem.pub`,
		Args:          noArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd, around)
			if err != nil {
				return err
			}
			log := newLogger(cfg.Log, around.stderr)
			warn(log, cfg, around.environment)
			if err := run(cmd.Context(), cfg, log); err != nil {
				return &failure{err}
			}
			return nil
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	defaults := config.Default()
	defaults.Flags(root.PersistentFlags())
	root.PersistentFlags().String("config", "", "YAML file; also LIFELINE_CONFIG")
	root.AddCommand(newCheck(around), newVersion(around))
	return root
}
