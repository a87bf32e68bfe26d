package main

import (
	"io"
	"log/slog"

	"lifeline/server/config"
)

// newLogger takes a validated configuration.
func newLogger(c config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// warn says aloud what is allowed here and would be a fault elsewhere.
func warn(log *slog.Logger, cfg config.Config, environment []string) {
	if cfg.Auth.Mode == config.AuthDevelopment {
		log.Warn("development tokens: every client may claim to be any user; for this machine only", "listen", cfg.Listen)
	}
	if cfg.Store == config.StoreMemory {
		log.Warn("store in memory: nothing survives this process")
	}
	for _, name := range unknown(environment) {
		log.Warn("the variable is no setting", "variable", name)
	}
}
