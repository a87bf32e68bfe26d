package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flags binds every field to a flag. What c holds is the default that help texts show.
func (c *Config) Flags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.Listen, "listen", c.Listen, "addresses for clients, tcp4://host:port or tcp6://host:port")
	fs.StringSliceVar(&c.Hosts, "hosts", c.Hosts, "host:port where clients are to connect from now on, in order of preference; empty = where they do")
	fs.StringVar(&c.HTTP, "http", c.HTTP, "host:port for metrics, health and profiles; empty = none")
	fs.StringVar(&c.DataDir, "data-dir", c.DataDir, "directory of the durable store")
	fs.StringVar(&c.Store, "store", c.Store, "pebble, or memory (nothing survives the process)")
	fs.IntVar(&c.Loops, "loops", c.Loops, "event loops; 0 = one per core")
	fs.IntVar(&c.MaxConnections, "max-connections", c.MaxConnections, "0 = what the descriptor limit allows")
	fs.Var(&c.MaxPayload, "max-payload", "largest payload of a message")
	fs.Var(&c.MaxBodyBytes, "max-body-bytes", "memory for unfinished frames, all connections together")
	fs.Var(&c.MaxOutboundBytes, "max-outbound-bytes", "memory for bytes that sockets do not take, all connections together")
	fs.IntVar(&c.PushWindow, "push-window", c.PushWindow, "messages pushed to a session and not yet acknowledged")
	fs.StringVar(&c.Auth.Mode, "auth-mode", c.Auth.Mode, "development (loopback only) or jwt")
	fs.StringVar(&c.Auth.Audience, "auth-audience", c.Auth.Audience, "audience that JWTs must name")
	fs.Var((*keys)(&c.Auth.Keys), "auth-key", "kid:algorithm:file of a key that verifies JWTs; repeat for more")
	c.Heartbeat.flags(fs)
	fs.StringVar(&c.Exclusive, "exclusive", c.Exclusive, "device: one session for each device; platform: one of a user on each platform, so that a second phone replaces the first")
	c.Routes.flags(fs)
	fs.StringVar(&c.Log.Level, "log-level", c.Log.Level, "debug, info, warn or error")
	fs.StringVar(&c.Log.Format, "log-format", c.Log.Format, "text or json")
}

func (h *Heartbeat) flags(fs *pflag.FlagSet) {
	span := func(d *time.Duration, name, usage string) { fs.DurationVar(d, name, *d, usage) }
	span(&h.Foreground.Interval, "heartbeat-foreground", "ping interval of apps in the foreground, the longest there")
	span(&h.Foreground.Min, "heartbeat-foreground-min", "shortest ping interval in the foreground")
	span(&h.Background.Interval, "heartbeat-background", "ping interval of apps in the background, on a network of which nothing is known")
	span(&h.Background.Min, "heartbeat-background-min", "shortest ping interval in the background")
	span(&h.Background.Max, "heartbeat-background-max", "longest ping interval in the background")
	span(&h.SlowMax, "heartbeat-slow-max", "longest ping interval in the background on 2G and 3G")
	span(&h.Desktop, "heartbeat-desktop", "ping interval of desktop and wired clients")
	fs.IntVar(&h.EchoesPerDay, "heartbeat-echoes-per-day", h.EchoesPerDay, "trials of a longer silence that a session may make; 0 = none")
	span(&h.Hold.Foreground, "hold-foreground", "how long an app in the foreground that answers nothing is kept")
	span(&h.Hold.Background, "hold-background", "how long an app in the background that answers nothing is kept")
	span(&h.LoadBalancerIdle, "load-balancer-idle", "idle timeout of the load balancer in front; 0 = none")
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
