package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lifeline/loadtest"
	"lifeline/loadtest/simulate"
)

func newSimulate(around surroundings) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "simulate",
		Short:   "Simulate phones and networks in virtual time; no server is needed",
		Example: `  lifelineload simulate heartbeat`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return usage(errors.New("a command is missing"))
		},
	}
	cmd.AddCommand(newSimulateHeartbeat(around))
	return cmd
}

func newSimulateHeartbeat(around surroundings) *cobra.Command {
	var (
		o      simulate.Options
		seeds  []uint
		format string
		html   string
	)
	cmd := &cobra.Command{
		Use:   "heartbeat",
		Short: "Compare heartbeats: wake-ups, broken mappings, false kills, late pushes",
		Long: `heartbeat lets phones live for days on networks whose NATs forget, with switches of network, sleep and lifts, under several
ways to choose the interval of the heartbeat, with the code that the server and the reference client run. docs/heartbeat.md
explains the table. The same seeds give the same numbers. The default takes a minute or two.`,
		Example: `  lifelineload simulate heartbeat
  lifelineload simulate heartbeat --clients 300 --days 7 --seeds 11,12,13 -o json
  lifelineload simulate heartbeat --html heartbeat.html`,
		Args: noArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			for _, s := range seeds {
				o.Seeds = append(o.Seeds, uint64(s))
			}
			fault := o.Validate()
			if format != "text" && format != "json" {
				fault = errors.Join(fmt.Errorf("output is %q, expected text or json", format), fault)
			}
			if fault != nil {
				return usage(fault)
			}
			p := newProgress(around.stderr, time.Now())
			o.Watch = func(done, of int) {
				p.show(time.Now(), loadtest.Progress{Phase: "living", Part: float64(done) / float64(of), Detail: fmt.Sprintf("%d of %d phones", done, of)})
			}
			report, err := simulate.Run(o)
			p.clear()
			if err != nil {
				return err
			}
			if html != "" {
				if err := writeFile(html, report.WriteHTML); err != nil {
					return err
				}
			}
			if format == "json" {
				return report.WriteJSON(around.stdout)
			}
			return report.WriteTable(around.stdout)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Clients, "clients", 1500, "phones, for each seed")
	flags.IntVar(&o.Days, "days", 14, "days that each phone lives")
	flags.UintSliceVar(&seeds, "seeds", []uint{1, 2, 3, 4, 5}, "seeds; the spread over them is reported")
	flags.IntVar(&o.Workers, "workers", 0, "phones simulated at once; 0 = one for each core")
	flags.StringVarP(&format, "output", "o", "text", "text, or json with one value")
	flags.StringVar(&html, "html", "", "file for a page with plots")
	return cmd
}

// writeFile makes a file of what write writes, and no half of one.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(path))
	}
	return nil
}
