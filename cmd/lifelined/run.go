package main

import (
	"context"
	"log/slog"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/server"
	"lifeline/server/config"
	"lifeline/store"
	"lifeline/store/commit"
	"lifeline/store/memstore"
	"lifeline/store/pebblestore"
)

// run serves until ctx is done.
func run(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	set := metrics.NewSet()
	node, err := server.New(server.Options{Config: cfg, Open: opener(cfg, set, log), Routes: routes(cfg), Metrics: set, Log: log})
	if err != nil {
		return err
	}
	return node.Run(ctx)
}

// opener returns what opens the configured store.
func opener(cfg config.Config, set *metrics.Set, log *slog.Logger) func(store.Sink) (store.Store, error) {
	return func(sink store.Sink) (store.Store, error) {
		if cfg.Store == config.StoreMemory {
			return memstore.New(memstore.Options{Sink: sink}), nil
		}
		return pebblestore.Open(pebblestore.Options{Dir: cfg.DataDir, Metrics: set, Log: log,
			Commit: commit.Options{Sink: sink, QueueCommands: queueCommands}})
	}
}

// queueCommands is how many commands wait for the store before Sends are refused: half a second of a fast node, for a
// disk that stands still for a moment should cost that moment and not a round of refusals and their delays.
const queueCommands = 16_384
