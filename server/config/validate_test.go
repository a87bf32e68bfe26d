package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// roomy is a machine on which the defaults fit.
var roomy = Machine{Cores: 2, Descriptors: 20_000}

func TestDefaultsAreValid(t *testing.T) {
	c := Default().Resolve(roomy)
	if err := c.Validate(roomy); err != nil {
		t.Error(err)
	}
	if c.Loops != 2 || c.MaxConnections != 20_000-768 {
		t.Errorf("resolved to %d loops, %d connections", c.Loops, c.MaxConnections)
	}
	if got := Default().Resolve(Machine{Cores: 96, Descriptors: 20_000}).Loops; got != MaxLoops {
		t.Errorf("96 cores: %d loops, want %d", got, MaxLoops)
	}
	chosen := Default()
	chosen.Loops, chosen.MaxConnections = 5, 100
	if c := chosen.Resolve(roomy); c.Loops != 5 || c.MaxConnections != 100 {
		t.Errorf("a choice was replaced: %d loops, %d connections", c.Loops, c.MaxConnections)
	}
}

func key(kid, algorithm, file string) Key { return Key{ID: kid, Algorithm: algorithm, File: file} }

func useJWT(c *Config, keys ...Key) { c.Auth = Auth{Mode: AuthJWT, Audience: "lifeline", Keys: keys} }

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string // empty = valid
	}{
		{"exclusive", func(c *Config) { c.Exclusive = "user" }, `exclusive is "user"`},
		{"Redis without a port", func(c *Config) { c.Routes.Redis = []string{"redis"} }, "routes.redis[0] is"},
		{"Sentinels of a Cluster", func(c *Config) { c.Routes.Redis, c.Routes.Cluster, c.Routes.Master = []string{"r:1"}, true, "m" }, "exclude each other"},
		{"settings of no Redis", func(c *Config) { c.Routes.Username = "u" }, "routes.redis is empty"},
		{"a node with a space", func(c *Config) { c.Routes.Node = "a b" }, `routes.node is "a b"`},
		{"routes that lapse before their sessions", func(c *Config) { c.Routes.TTL = 47 * time.Minute }, "31m20s left, 2/3 of its 47m0s, but a session may be silent for 31m50s"},
		{"routes that lapse a moment before", func(c *Config) { c.Routes.TTL = 2865 * time.Second }, "a session may be silent for 31m50s (limit, probes and hold at their largest), and 10s are to spare: raise the route's time to live to 48m0s"},
		{"routes that just do not", func(c *Config) { c.Routes.TTL = 48 * time.Minute }, ""},
		{"heartbeats that outlive the kernel's patience", func(c *Config) {
			c.Heartbeat.Background.Max, c.Routes.TTL = 1200*time.Second, 2*time.Hour
		}, "TCP_USER_TIMEOUT is 40m0s, but a session may be silent for 42m20s"},
		{"memory without a directory", func(c *Config) { c.Store, c.DataDir = StoreMemory, "" }, ""},
		{"pebble without a directory", func(c *Config) { c.DataDir = "" }, "data_dir is empty"},
		{"unknown store", func(c *Config) { c.Store = "redis" }, `store is "redis"`},
		{"most loops", func(c *Config) { c.Loops = 64 }, ""},
		{"too many loops", func(c *Config) { c.Loops = 65 }, "loops is 65"},
		{"negative loops", func(c *Config) { c.Loops = -1 }, "loops is -1"},
		{"no HTTP", func(c *Config) { c.HTTP = "" }, ""},
		{"no listeners", func(c *Config) { c.Listen = nil }, "listen is empty"},
		{"no scheme", func(c *Config) { c.Listen = []string{"127.0.0.1:1"} }, "expected tcp4://"},
		{"dual stack", func(c *Config) { c.Listen = []string{"tcp://127.0.0.1:1"} }, "expected tcp4://"},
		{"no port", func(c *Config) { c.Listen = []string{"tcp4://127.0.0.1"} }, "expected host:port"},
		{"port too large", func(c *Config) { c.Listen = []string{"tcp4://127.0.0.1:65536"} }, `port "65536"`},
		{"HTTP without port", func(c *Config) { c.HTTP = "127.0.0.1" }, `http is "127.0.0.1"`},
		{"listener twice", func(c *Config) { c.Listen = append(c.Listen, c.Listen[0]) }, "listen[0] and listen[1] are both 127.0.0.1:7400"},
		{"listener on the HTTP port", func(c *Config) { c.HTTP = "127.0.0.1:7400" }, "listen[0] and http are both"},
		{"any port twice", func(c *Config) { c.Listen = []string{"tcp4://127.0.0.1:0", "tcp4://127.0.0.1:0"} }, ""},
		{"payload of nothing", func(c *Config) { c.MaxPayload = 0 }, "max_payload is 0"},
		{"payload at the ceiling", func(c *Config) { c.MaxPayload = 60 << 10 }, ""},
		{"payload above the ceiling", func(c *Config) { c.MaxPayload = 60<<10 + 1 }, "max_payload is 61441, must be 1 to 60KiB"},
		{"body budget of one frame", func(c *Config) { c.MaxBodyBytes = 34 << 10 }, ""},
		{"hosts", func(c *Config) { c.Hosts = []string{"im.example.net:443", "[2001:db8::1]:443"} }, ""},
		{"a host without a port", func(c *Config) { c.Hosts = []string{"im.example.net:443", "im.example.net"} }, `hosts[1] is "im.example.net": expected host:port`},
		{"a port without a host", func(c *Config) { c.Hosts = []string{":443"} }, `hosts[0] is ":443": expected a host of 1 to 253 bytes`},
		{"a host at port 0", func(c *Config) { c.Hosts = []string{"im.example.net:0"} }, "a port of 1 to 65535"},
		{"a host with a long name", func(c *Config) { c.Hosts = []string{strings.Repeat("h", 254) + ":443"} }, "1 to 253 bytes"},
		{"too many hosts", func(c *Config) { c.Hosts = slices.Repeat([]string{"im.example.net:443"}, 9) }, "hosts has 9 addresses, must be at most 8"},
		{"outbound budget of one frame", func(c *Config) { c.MaxOutboundBytes = 34 << 10 }, ""},
		{"outbound budget below one frame", func(c *Config) { c.MaxOutboundBytes = 34<<10 - 1 }, "max_outbound_bytes is 34815, less than one frame of 34KiB"},
		{"body budget below one frame", func(c *Config) { c.MaxBodyBytes = 34<<10 - 1 }, "max_body_bytes is 34815, less than one frame of 34KiB"},
		{"no window", func(c *Config) { c.PushWindow = 0 }, "push_window is 0"},
		{"log level", func(c *Config) { c.Log.Level = "loud" }, `log.level is "loud"`},
		{"log format", func(c *Config) { c.Log.Format = "xml" }, `log.format is "xml"`},

		{"development on IPv6 loopback", func(c *Config) { c.Listen = []string{"tcp6://[::1]:1"} }, ""},
		{"development on localhost", func(c *Config) { c.Listen = []string{"tcp4://localhost:1"} }, ""},
		{"development on all of 127/8", func(c *Config) { c.Listen = []string{"tcp4://127.8.8.8:1"} }, ""},
		{"development on every address", func(c *Config) { c.Listen = append(c.Listen, "tcp4://0.0.0.0:1") },
			"auth.mode is development, whose tokens prove nothing, but listen[1] is tcp4://0.0.0.0:1"},
		{"development without a host", func(c *Config) { c.Listen = []string{"tcp4://:1"} }, "listen[0] is tcp4://:1, which is not loopback"},
		{"development on a name", func(c *Config) { c.Listen = []string{"tcp4://chat.example:1"} }, "not loopback"},
		{"development with keys", func(c *Config) { c.Auth.Keys = []Key{key("a", "EdDSA", "f")} }, "auth.keys has 1 keys"},
		{"jwt on every address", func(c *Config) { useJWT(c, key("a", "EdDSA", "f")); c.Listen = []string{"tcp4://0.0.0.0:1"} }, ""},
		{"jwt with two keys", func(c *Config) { useJWT(c, key("a", "EdDSA", "f"), key("b", "HS256", "g")) }, ""},
		{"jwt without keys", func(c *Config) { useJWT(c) }, "auth.keys is empty"},
		{"jwt without audience", func(c *Config) { useJWT(c, key("a", "EdDSA", "f")); c.Auth.Audience = "" }, "auth.audience is empty"},
		{"jwt with one kid twice", func(c *Config) { useJWT(c, key("a", "EdDSA", "f"), key("a", "HS256", "g")) }, `auth.keys[0] and auth.keys[1] both have kid "a"`},
		{"jwt with none", func(c *Config) { useJWT(c, key("a", "none", "f")) }, `auth.keys[0].algorithm is "none"`},
		{"jwt without a file", func(c *Config) { useJWT(c, key("a", "EdDSA", "")) }, "auth.keys[0] needs kid and file"},
		{"unknown mode", func(c *Config) { c.Auth.Mode = "open" }, `auth.mode is "open"`},

		{"heartbeat outside its bounds", func(c *Config) { c.Heartbeat.Foreground.Interval = 20 * time.Second }, "heartbeat.foreground.interval is 20s"},
		{"load balancer patient enough", func(c *Config) { c.Heartbeat.LoadBalancerIdle = 930 * time.Second }, ""},
		{"load balancer too impatient", func(c *Config) { c.Heartbeat.LoadBalancerIdle = 929 * time.Second },
			"heartbeat.background.max is 15m0s, but heartbeat.load_balancer_idle is 15m29s"},
		{"load balancer more impatient than a desktop", func(c *Config) { c.Heartbeat.LoadBalancerIdle, c.Heartbeat.Desktop = 930*time.Second, 901*time.Second },
			"heartbeat.desktop is 15m1s, but"},
		{"load balancer negative", func(c *Config) { c.Heartbeat.LoadBalancerIdle = -1 }, "must not be negative"},
	} {
		c := Default()
		tt.change(&c)
		err := c.Resolve(roomy).Validate(roomy)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		case tt.want != "" && strings.Count(err.Error(), "\n") != 0:
			t.Errorf("%s: more than the one fault: %v", tt.name, err)
		}
	}
}

func TestDescriptorsBoundConnections(t *testing.T) {
	for _, tt := range []struct {
		connections, descriptors int
		want                     []string
	}{
		{19_232, 20_000, nil},
		{19_233, 20_000, []string{"max_connections is 19233", "needs 20001", "limit is 20000"}},
		{1_000_000, 1024, []string{"needs 1000768", "limit is 1024"}},
		{-1, 20_000, []string{"max_connections is -1"}},
		{0, 769, nil},
		{0, 768, []string{"limit is 768", "raise it"}},
		{0, 256, []string{"limit is 256"}},
	} {
		m := Machine{Cores: 2, Descriptors: tt.descriptors}
		c := Default()
		c.MaxConnections = tt.connections
		err := c.Resolve(m).Validate(m)
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%d of %d: %v", tt.connections, tt.descriptors, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%d of %d: %q lacks %q", tt.connections, tt.descriptors, err, want)
			}
		}
	}
}

func TestEveryFaultIsReportedAtOnce(t *testing.T) {
	c := Config{}
	err := c.Validate(roomy)
	if err == nil {
		t.Fatal("nothing is valid")
	}
	for _, want := range []string{"listen", "store", "loops", "max_connections", "max_payload", "max_body_bytes", "max_outbound_bytes", "push_window",
		"exclusive", "routes.ttl", "auth.mode", "heartbeat.foreground", "heartbeat.background", "heartbeat.desktop", "log.level", "log.format"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is missing from\n%v", want, err)
		}
	}
}

func TestThisMachine(t *testing.T) {
	m, err := ThisMachine()
	if err != nil || m.Cores < 1 || m.Descriptors < 1 {
		t.Errorf("%+v, %v", m, err)
	}
}
