package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"lifeline/store/pebblestore"
)

func newStore(around surroundings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Check, restore or renew the store of a server that is not running",
		Long: `store works on a data directory, which no server may be using.

A backup is a copy of the directory of a server that was stopped. Copying it back by hand is refused at the next start,
because clients know more than it does: restore makes the copy and gives it a new epoch, so that they fetch again.`,
		Args: exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return usage(fmt.Errorf("a command is missing"))
		},
	}
	cmd.AddCommand(newStoreVerify(around), newStoreRestore(around), newStoreNewEpoch(around))
	return cmd
}

func tool(around surroundings, dir string) pebblestore.Tool {
	return pebblestore.Tool{Dir: dir, Log: slog.New(slog.NewTextHandler(around.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
}

// maxFaults bounds what verify prints; the rest is counted.
const maxFaults = 100

// verdict is what verify has found.
type verdict struct {
	Conversations uint64   `json:"conversations"`
	Messages      uint64   `json:"messages"`
	Users         uint64   `json:"users"`
	Entries       uint64   `json:"entries"`
	Cursors       uint64   `json:"cursors"`
	Obligations   uint64   `json:"obligations"`
	Faults        uint64   `json:"faults"`
	First         []string `json:"first_faults"`
}

func newStoreVerify(around surroundings) *cobra.Command {
	var format output
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Read a whole store and report what breaks a rule",
		Long: `verify reads every key of the store: sequences without holes, heads, inbox entries that point to their messages,
cursors that are not ahead, open obligations, applied indexes. It changes nothing, and works where it may not write; but a
copy that was made without the file LOCK gets one. The exit code is 1 when a rule is broken.`,
		Example: `  lifelinectl store verify ./data
  lifelinectl store verify -o json /var/lib/lifeline`,
		Args: exactly(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			v := verdict{First: []string{}}
			census, err := tool(around, args[0]).Verify(func(fault string) {
				if v.Faults++; v.Faults <= maxFaults {
					v.First = append(v.First, fault)
				}
			})
			if err != nil {
				return err
			}
			v.Conversations, v.Messages, v.Users = census.Conversations, census.Messages, census.Users
			v.Entries, v.Cursors, v.Obligations = census.Entries, census.Cursors, census.Obligations
			return printVerdict(around, format, &v)
		},
	}
	format.flag(cmd.Flags())
	return cmd
}

func printVerdict(around surroundings, format output, v *verdict) error {
	if format == asJSON {
		if err := printJSON(around.stdout, v); err != nil {
			return err
		}
	} else {
		for _, fault := range v.First {
			fmt.Fprintln(around.stdout, oneLine([]byte(fault)))
		}
		fmt.Fprintf(around.stdout, "%d conversations, %d messages, %d users, %d inbox entries, %d cursors, %d open obligations\n",
			v.Conversations, v.Messages, v.Users, v.Entries, v.Cursors, v.Obligations)
	}
	if v.Faults > 0 {
		return fmt.Errorf("%d faults: keep the directory as it is, restore a backup elsewhere, and report them", v.Faults)
	}
	return nil
}

func newStoreRestore(around surroundings) *cobra.Command {
	return &cobra.Command{
		Use:   "restore BACKUP DIR",
		Short: "Copy a backup to a new directory and give it a new epoch",
		Long: `restore copies BACKUP, the directory of a server that was stopped, to DIR, which must not exist or be empty, and gives
the copy a new epoch: every client that connects then fetches what it has again. Neither of the two may lie in the other.
BACKUP is only read.`,
		Example: `  lifelinectl store restore /backup/lifeline-0200 /var/lib/lifeline`,
		Args:    exactly(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := tool(around, args[1]).Restore(args[0]); err != nil {
				return err
			}
			fmt.Fprintf(around.stdout, "restored %s to %s with a new epoch\n", args[0], args[1])
			return nil
		},
	}
}

func newStoreNewEpoch(around surroundings) *cobra.Command {
	return &cobra.Command{
		Use:   "new-epoch DIR",
		Short: "Give a store a new epoch",
		Long: `new-epoch makes a directory usable that is older than what clients have seen: every client that connects then fetches
what it has again. Messages that only the newer directory had are lost.`,
		Example: `  lifelinectl store new-epoch ./data`,
		Args:    exactly(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := tool(around, args[0]).NewEpoch(); err != nil {
				return err
			}
			fmt.Fprintf(around.stdout, "%s has a new epoch\n", args[0])
			return nil
		},
	}
}
