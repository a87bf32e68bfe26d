package config

import (
	"time"

	"lifeline/server/liveness"
)

// Config is everything an operator may set. [Default] gives the values; zero means "as much as fits" only where a
// field says so, and [Config.Resolve] replaces those zeros.
type Config struct {
	Listen           []string  `yaml:"listen"`             // addresses for clients, tcp4://host:port or tcp6://host:port
	Hosts            []string  `yaml:"hosts"`              // host:port where clients reach this node's store, told to them; empty = they keep what they have
	HTTP             string    `yaml:"http"`               // host:port for metrics, health and profiles; empty = none
	DataDir          string    `yaml:"data_dir"`           // where the durable store lives
	Store            string    `yaml:"store"`              // pebble or memory
	Loops            int       `yaml:"loops"`              // event loops; 0 = one per core
	MaxConnections   int       `yaml:"max_connections"`    // 0 = what the descriptor limit allows
	MaxPayload       Size      `yaml:"max_payload"`        // largest payload of a message
	MaxBodyBytes     Size      `yaml:"max_body_bytes"`     // all unfinished frames of the node together
	MaxOutboundBytes Size      `yaml:"max_outbound_bytes"` // what waits for sockets that do not take it, of the node together
	PushWindow       int       `yaml:"push_window"`        // messages pushed to a session and not yet acknowledged
	Auth             Auth      `yaml:"auth"`
	Heartbeat        Heartbeat `yaml:"heartbeat"`
	Exclusive        string    `yaml:"exclusive"` // device: one session each; platform: one session of a user on each platform
	Routes           Routes    `yaml:"routes"`
	Log              Log       `yaml:"log"`
}

// Auth says whose tokens are believed.
type Auth struct {
	Mode     string `yaml:"mode"`     // development or jwt
	Audience string `yaml:"audience"` // of JWTs
	Keys     []Key  `yaml:"keys"`     // that verify JWTs
}

// Key names a key file. See package auth for what it must hold.
type Key struct {
	ID        string `yaml:"kid"`
	Algorithm string `yaml:"algorithm"`
	File      string `yaml:"file"`
}

// Heartbeat is the policy, and what stands between the clients and the node.
type Heartbeat struct {
	liveness.Policy  `yaml:",inline"`
	LoadBalancerIdle time.Duration `yaml:"load_balancer_idle"` // its idle timeout; 0 = there is none
}

// Log says what is logged, to standard error.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // text or json
}

// Values of the fields that are names.
const (
	StorePebble     = "pebble"
	StoreMemory     = "memory"
	AuthDevelopment = "development"
	AuthJWT         = "jwt"
)

// Default is the configuration without any source: it serves this machine only.
func Default() Config {
	return Config{
		Listen:           []string{"tcp4://127.0.0.1:7400"},
		HTTP:             "127.0.0.1:7401",
		DataDir:          "./data",
		Store:            StorePebble,
		MaxPayload:       32 << 10,
		MaxBodyBytes:     64 << 20,
		MaxOutboundBytes: 256 << 20,
		PushWindow:       64,
		Auth:             Auth{Mode: AuthDevelopment, Audience: "lifeline"},
		Heartbeat:        Heartbeat{Policy: liveness.DefaultPolicy()},
		Exclusive:        ExclusiveDevice,
		Routes:           Routes{TTL: DefaultRouteTTL},
		Log:              Log{Level: "info", Format: "text"},
	}
}

// DescriptorReserve is what the node needs beside one descriptor per connection: the store's files, Redis, HTTP.
const DescriptorReserve = 768

// MaxLoops is what the directory's bit mask and the ConnID can name.
const MaxLoops = 64

// Machine is what the process may use. The checks take it as an argument, so that they can be made for another machine.
type Machine struct {
	Cores       int
	Descriptors int
}

// Resolve returns c with the zeros that mean "what fits" replaced for m.
func (c Config) Resolve(m Machine) Config {
	if c.Loops == 0 {
		c.Loops = min(m.Cores, MaxLoops)
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = max(m.Descriptors-DescriptorReserve, 0)
	}
	return c
}
