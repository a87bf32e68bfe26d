package main

import (
	"context"
	"errors"
	"log/slog"

	"lifeline/server/config"
)

// run serves until ctx is done.
func run(_ context.Context, _ config.Config, _ *slog.Logger) error {
	return errors.New("the node is not wired yet")
}
