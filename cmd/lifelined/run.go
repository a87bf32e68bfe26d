package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/server"
	"lifeline/server/config"
	"lifeline/store"
	"lifeline/store/memstore"
)

// run serves until ctx is done.
func run(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	node, err := server.New(server.Options{Config: cfg, Open: opener(cfg), Metrics: metrics.NewSet(), Log: log})
	if err != nil {
		return err
	}
	return node.Run(ctx)
}

// opener returns what opens the configured store.
func opener(cfg config.Config) func(store.Sink) (store.Store, error) {
	if cfg.Store == config.StoreMemory {
		return func(sink store.Sink) (store.Store, error) { return memstore.New(memstore.Options{Sink: sink}), nil }
	}
	return func(store.Sink) (store.Store, error) {
		return nil, errors.New("this build has no durable store yet: pass --store memory, in which nothing survives")
	}
}
