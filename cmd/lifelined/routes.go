package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lifeline/server"
	"lifeline/server/config"
	"lifeline/server/route"
	"lifeline/server/route/redisroute"
)

// lease is how long the node counts without a word from it. Tests shorten it.
var lease = route.DefaultLease

// routes returns how the node takes part in the configured online table, nil if it is alone.
func routes(cfg config.Config) *server.RouteOptions {
	r := cfg.Routes
	if len(r.Redis) == 0 {
		return nil
	}
	return &server.RouteOptions{
		Addresses: cfg.Listen,
		Lease:     lease,
		Self:      func() (route.Self, error) { return self(cfg) },
		Table: func(self route.Self) (route.Table, error) {
			password, err := password(r.PasswordFile)
			if err != nil {
				return nil, err
			}
			return redisroute.New(redisroute.Options{Self: self, Addrs: r.Redis, Cluster: r.Cluster, Master: r.Master,
				Username: r.Username, Password: password})
		},
	}
}

func password(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("password of Redis: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// self says who this node is. Its id lives in the data directory, whose lock proves that an older process with the id is
// dead; a store in memory has no directory, so each process is a node of its own.
func self(cfg config.Config) (route.Self, error) {
	s := route.Self{Node: cfg.Routes.Node, Incarnation: uint64(time.Now().UnixNano()), TTL: cfg.Routes.TTL}
	if cfg.Store == config.StoreMemory {
		s.Directory = "memory-" + rand.Text()
		if s.Node == "" {
			s.Node = "node-" + rand.Text()
		}
		return s, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return s, err
	}
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return s, err
	}
	s.Directory = host + ":" + dir
	if s.Node == "" {
		s.Node, err = keptNode(filepath.Join(dir, "node"))
	}
	return s, err
}

// keptNode reads the node's id from a file, and draws one where there is none.
func keptNode(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	id := "node-" + rand.Text()
	if err := os.WriteFile(file, []byte(id+"\n"), 0o600); err != nil {
		return "", err
	}
	return id, nil
}
