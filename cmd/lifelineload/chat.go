package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"lifeline/loadtest"
)

// Unanswered Sends of a pair unless a flag says so. At a rate the window must not be what holds a message back.
const (
	closedWindow = 4
	openWindow   = 64
)

func newChat(around surroundings) *cobra.Command {
	s, o := &scenario{around: around}, &loadtest.Chat{}
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Let pairs of users talk: rates, latencies, and whether all came, in order",
		Long: `chat connects pairs of users. In each, one keeps sending to the other, whose devices acknowledge like an app that stores
what it gets: every 16 entries or 200 ms. It measures from Send to Sendack and from Send to Push, and with --devices 2 to
the later of the two.

Without --rate a message goes when an answer comes, --window of them unanswered: that finds the highest rate. With --rate
messages are due at random moments, so many a second in all, whether or not answers come, and latencies count from the
moment a message was due: a server that falls behind cannot hide it. Take 70 % of the highest rate.

When the time is over, chat waits until everything that was sent is answered and pushed, and fails if something is
missing. Each run has new users.`,
		Example: `  lifelineload chat --pairs 256 --window 4 --duration 15s --size 128
  lifelineload chat --pairs 256 --rate 15000 --duration 60s -o json
  lifelineload chat --pairs 128 --devices 2`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Rate > 0 && !cmd.Flags().Changed("window") {
				o.Window = openWindow
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
	flags.IntVar(&o.Pairs, "pairs", 256, "pairs of users")
	flags.IntVar(&o.Devices, "devices", 1, "devices of each receiver, 1 or 2")
	flags.IntVar(&o.Window, "window", closedWindow, "unanswered Sends of each pair; with --rate 64, what the server allows")
	flags.Float64Var(&o.Rate, "rate", 0, "messages a second of all pairs together; 0 = each when an answer comes")
	flags.IntVar(&o.Size, "size", 128, "bytes of a payload, at least 24")
	flags.DurationVar(&o.Warmup, "warmup", 2*time.Second, "how long to talk before measuring")
	flags.DurationVar(&o.Duration, "duration", 15*time.Second, "how long to measure")
	flags.DurationVar(&o.Finish, "finish", 10*time.Second, "how long to wait at the end, without progress, for what was sent")
	return cmd
}
