package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"lifeline/loadtest"
)

func newIdle(around surroundings) *cobra.Command {
	s, o := &scenario{around: around}, &loadtest.Idle{}
	var activity string
	cmd := &cobra.Command{
		Use:   "idle",
		Short: "Hold many connections that are only there",
		Long: `idle logs in devices, one user each, at a rate, and holds the connections: each pings at the heartbeat that the server
grants, and answers what it is asked. It reports how many connected, who was refused by which code, what was lost, and
how long it took from the moment a dial was due to Connack. Given the address of the server's metrics it also says how
much CPU the server used while it held them.

The users are the same in every run (--users), so a run leaves no more in a store than the one before. Two runs at once
need different ones, or they take each other's place.`,
		Example: `  lifelineload idle --connections 15000 --rate 2000 --hold 60s
  lifelineload idle --connections 100000 --source 127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4
  lifelineload idle --connections 15000 --hold 10m --metrics http://127.0.0.1:7401/metrics
  lifelineload idle --connections 1000 --activity foreground --hold 10m -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Foreground = activity == "foreground"
			if !o.Foreground && activity != "background" {
				return usage(fmt.Errorf("activity is %q, expected foreground or background", activity))
			}
			return s.run(cmd.Context(), o.Validate(), func(ctx context.Context, watch func(loadtest.Progress)) (report, error) {
				r, err := o.Run(ctx, watch)
				if r == nil {
					return nil, err
				}
				return r, err
			})
		},
	}
	flags := cmd.Flags()
	s.flags(flags, &o.Target)
	flags.IntVar(&o.Connections, "connections", 1000, "devices")
	flags.Float64Var(&o.Rate, "rate", 1000, "dials a second; 0 = as fast as possible")
	flags.DurationVar(&o.Hold, "hold", time.Minute, "how long to hold them once all are there")
	flags.StringVar(&o.Users, "users", "load-idle", "what the user ids begin with")
	flags.StringVar(&o.Metrics, "metrics", "", "address of the server's metrics, for its CPU; http://host:port/metrics")
	flags.StringVar(&activity, "activity", "background", "what the devices say of their app: foreground or background")
	return cmd
}
