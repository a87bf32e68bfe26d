package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Flags binds every field to a flag. What c holds is the default that help texts show.
func (c *Config) Flags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.Listen, "listen", c.Listen, "addresses for clients, tcp4://host:port or tcp6://host:port")
	fs.StringVar(&c.HTTP, "http", c.HTTP, "host:port for metrics, health and profiles; empty = none")
	fs.StringVar(&c.DataDir, "data-dir", c.DataDir, "directory of the durable store")
	fs.StringVar(&c.Store, "store", c.Store, "pebble, or memory (nothing survives the process)")
	fs.IntVar(&c.Loops, "loops", c.Loops, "event loops; 0 = one per core")
	fs.IntVar(&c.MaxConnections, "max-connections", c.MaxConnections, "0 = what the descriptor limit allows")
	fs.Var(&c.MaxPayload, "max-payload", "largest payload of a message")
	fs.Var(&c.MaxBodyBytes, "max-body-bytes", "memory for unfinished frames, all connections together")
	fs.IntVar(&c.PushWindow, "push-window", c.PushWindow, "messages pushed to a session and not yet acknowledged")
	fs.StringVar(&c.Auth.Mode, "auth-mode", c.Auth.Mode, "development (loopback only) or jwt")
	fs.StringVar(&c.Auth.Audience, "auth-audience", c.Auth.Audience, "audience that JWTs must name")
	fs.Var((*keys)(&c.Auth.Keys), "auth-key", "kid:algorithm:file of a key that verifies JWTs; repeat for more")
	fs.DurationVar(&c.Heartbeat.Foreground.Interval, "heartbeat-foreground", c.Heartbeat.Foreground.Interval, "ping interval of apps in the foreground")
	fs.DurationVar(&c.Heartbeat.Background.Interval, "heartbeat-background", c.Heartbeat.Background.Interval, "ping interval of apps in the background")
	fs.DurationVar(&c.Heartbeat.Desktop, "heartbeat-desktop", c.Heartbeat.Desktop, "ping interval of desktop and wired clients")
	fs.DurationVar(&c.Heartbeat.LoadBalancerIdle, "load-balancer-idle", c.Heartbeat.LoadBalancerIdle, "idle timeout of the load balancer in front; 0 = none")
	fs.StringVar(&c.Exclusive, "exclusive", c.Exclusive, "device: one session for each device; platform: one of a user on each platform, so that a second phone replaces the first")
	c.Routes.flags(fs)
	fs.StringVar(&c.Log.Level, "log-level", c.Log.Level, "debug, info, warn or error")
	fs.StringVar(&c.Log.Format, "log-format", c.Log.Format, "text or json")
}

// keys is a list of keys as a flag: the first value replaces what was there, as for every list flag.
type keys []Key

var _ pflag.SliceValue = (*keys)(nil)

func (k Key) String() string { return k.ID + ":" + k.Algorithm + ":" + k.File }

func parseKey(text string) (Key, error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 {
		return Key{}, fmt.Errorf("key %q: expected kid:algorithm:file", text)
	}
	return Key{ID: parts[0], Algorithm: parts[1], File: parts[2]}, nil
}

func (k *keys) Type() string { return "key" }

func (k *keys) String() string { return strings.Join(k.GetSlice(), ",") }

// Set appends the comma-separated keys of text.
func (k *keys) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		if err := k.Append(part); err != nil {
			return err
		}
	}
	return nil
}

func (k *keys) Append(text string) error {
	key, err := parseKey(text)
	if err != nil {
		return err
	}
	*k = append(*k, key)
	return nil
}

func (k *keys) Replace(texts []string) error {
	*k = nil
	for _, text := range texts {
		if err := k.Append(text); err != nil {
			return err
		}
	}
	return nil
}

func (k *keys) GetSlice() []string {
	texts := make([]string, len(*k))
	for i, key := range *k {
		texts[i] = key.String()
	}
	return texts
}
