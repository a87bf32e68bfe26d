package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"lifeline/server/liveness"
)

// parse gives flags as a command line does.
func parse(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	flags := pflag.NewFlagSet("lifelined", pflag.ContinueOnError)
	c := Default()
	c.Flags(flags)
	flags.Bool("help", false, "a flag of the command, unknown to the configuration")
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return flags
}

func TestNoSourceGivesTheDefaults(t *testing.T) {
	c, err := Load(Sources{})
	if err != nil || !reflect.DeepEqual(c, Default()) {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestLaterSourcesWin(t *testing.T) {
	file := "push_window: 10\nloops: 11\nmax_payload: 12KiB\nstore: memory\nlisten: ['tcp4://127.0.0.1:1']\n"
	environment := []string{"LIFELINE_LOOPS=21", "LIFELINE_MAX_PAYLOAD=22KiB", "LIFELINE_LISTEN=tcp4://127.0.0.1:2,tcp4://127.0.0.1:3", "HOME=/root"}
	flags := parse(t, "--max-payload=32", "--listen=tcp4://127.0.0.1:4", "--listen=tcp4://127.0.0.1:5")

	for _, tt := range []struct {
		name       string
		sources    Sources
		pushWindow int
		loops      int
		maxPayload Size
		listen     []string
	}{
		{"file", Sources{YAML: []byte(file)}, 10, 11, 12 << 10, []string{"tcp4://127.0.0.1:1"}},
		{"file, environment", Sources{YAML: []byte(file), Environment: environment}, 10, 21, 22 << 10,
			[]string{"tcp4://127.0.0.1:2", "tcp4://127.0.0.1:3"}},
		{"all", Sources{YAML: []byte(file), Environment: environment, Flags: flags}, 10, 21, 32,
			[]string{"tcp4://127.0.0.1:4", "tcp4://127.0.0.1:5"}},
		{"flags", Sources{Flags: flags}, 64, 0, 32, []string{"tcp4://127.0.0.1:4", "tcp4://127.0.0.1:5"}},
	} {
		c, err := Load(tt.sources)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if c.PushWindow != tt.pushWindow || c.Loops != tt.loops || c.MaxPayload != tt.maxPayload || !slices.Equal(c.Listen, tt.listen) {
			t.Errorf("%s: push window %d, loops %d, max payload %v, listen %v", tt.name, c.PushWindow, c.Loops, c.MaxPayload, c.Listen)
		}
	}
}

// settings holds a value other than the default for every flag.
var settings = map[string]string{
	"listen": "tcp4://127.0.0.1:1,tcp6://[::1]:2", "hosts": "im1.example.net:443,im2.example.net:443", "http": "127.0.0.1:3", "data-dir": "/var/lib/lifeline", "store": "memory",
	"loops": "3", "max-connections": "4", "max-payload": "5KiB", "max-body-bytes": "6MiB", "max-outbound-bytes": "8MiB", "push-window": "7",
	"auth-mode": "jwt", "auth-audience": "chat", "auth-key": "a:EdDSA:/k/a.pem,b:HS256:/k/b",
	"heartbeat-foreground": "45s", "heartbeat-foreground-min": "40s",
	"heartbeat-background": "2m0s", "heartbeat-background-min": "1m0s", "heartbeat-background-max": "5m0s", "heartbeat-slow-max": "3m0s",
	"heartbeat-desktop": "50s", "heartbeat-echoes-per-day": "4", "hold-foreground": "20s", "hold-background": "4m0s", "load-balancer-idle": "1h0m0s",
	"exclusive": "platform", "redis": "r1:6379,r2:6379", "redis-cluster": "true", "redis-master": "m", "redis-username": "u",
	"redis-password-file": "/k/redis", "route-ttl": "2h0m0s", "node": "n1",
	"log-level": "debug", "log-format": "json",
}

func TestEverySettingFromEverySource(t *testing.T) {
	parse(t).VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && settings[f.Name] == "" {
			t.Fatalf("--%s has no line in this test", f.Name)
		}
	})
	var environment, args []string
	for name, value := range settings {
		environment = append(environment, EnvironmentPrefix+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+value)
		args = append(args, "--"+name+"="+value)
	}
	byEnvironment, err := Load(Sources{Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	byFlags, err := Load(Sources{Flags: parse(t, args...)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := byFlags.YAML()
	if err != nil {
		t.Fatal(err)
	}
	byFile, err := Load(Sources{YAML: text})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	want := Default()
	want.Listen, want.HTTP, want.DataDir, want.Store = []string{"tcp4://127.0.0.1:1", "tcp6://[::1]:2"}, "127.0.0.1:3", "/var/lib/lifeline", "memory"
	want.Loops, want.MaxConnections, want.MaxPayload, want.MaxBodyBytes, want.PushWindow = 3, 4, 5<<10, 6<<20, 7
	want.MaxOutboundBytes, want.Hosts = 8<<20, []string{"im1.example.net:443", "im2.example.net:443"}
	want.Auth = Auth{Mode: "jwt", Audience: "chat", Keys: []Key{{"a", "EdDSA", "/k/a.pem"}, {"b", "HS256", "/k/b"}}}
	want.Heartbeat = Heartbeat{LoadBalancerIdle: time.Hour, Policy: liveness.Policy{
		Foreground: liveness.Pace{Min: 40 * time.Second, Interval: 45 * time.Second},
		Background: liveness.Range{Min: time.Minute, Interval: 2 * time.Minute, Max: 5 * time.Minute},
		SlowMax:    3 * time.Minute, Desktop: 50 * time.Second, EchoesPerDay: 4,
		Hold: liveness.Hold{Foreground: 20 * time.Second, Background: 4 * time.Minute}}}
	want.Exclusive = ExclusivePlatform
	want.Routes = Routes{Redis: []string{"r1:6379", "r2:6379"}, Cluster: true, Master: "m", Username: "u", PasswordFile: "/k/redis", TTL: 2 * time.Hour, Node: "n1"}
	want.Log = Log{Level: "debug", Format: "json"}
	for name, got := range map[string]Config{"environment": byEnvironment, "flags": byFlags, "file": byFile} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
}

func TestSourceFaults(t *testing.T) {
	for _, tt := range []struct {
		name    string
		sources Sources
		want    []string
	}{
		{"unknown keys with their lines", Sources{File: "/etc/lifeline.yaml", YAML: []byte("loops: 1\nlops: 2\nauth:\n  mod: jwt\n")},
			[]string{`configuration file /etc/lifeline.yaml: line 2: unknown key "lops"`, `/etc/lifeline.yaml: line 4: unknown key "mod"`}},
		{"unknown key of the heartbeat", Sources{YAML: []byte("heartbeat:\n  foregrund: {}\n")}, []string{`line 2: unknown key "foregrund"`}},
		{"wrong types", Sources{YAML: []byte("loops: many\nhttp: [a]\nlisten: {}\nroutes: {cluster: 3}\nauth: 7\n")}, []string{
			`line 1: "many": expected a whole number`, "line 2: expected one text", "line 3: expected a list",
			`line 4: "3": expected true or false`, "line 5:"}},
		{"wrong size", Sources{YAML: []byte("loops: 1\nmax_payload: 3 bananas\n")}, []string{"line 2", "3 bananas", "KiB"}},
		{"wrong size and what is behind it", Sources{YAML: []byte("max_payload: 32KB\nlops: 2\nmax_body_bytes: []\npush_window: many\nroute:\n")},
			[]string{"line 1", "32KB", `line 2: unknown key "lops"`, "line 3", "line 4", "many", `line 5: unknown key "route"`}},
		{"wrong span", Sources{YAML: []byte("heartbeat:\n  desktop: 60\nlops: 2\n")}, []string{`line 2: "60"`, "90s", "lops"}},
		{"span without sense", Sources{YAML: []byte("heartbeat:\n  desktop: 3x\n")}, []string{`line 2: "3x"`}},
		{"key twice", Sources{YAML: []byte("loops: 1\nloops: 2\n")}, []string{"line 2", "loops"}},
		{"no YAML", Sources{YAML: []byte("loops: [")}, []string{"configuration file", "line 1"}},
		{"two documents", Sources{YAML: []byte("loops: 1\n---\nloops: 2\n")}, []string{"more than one document"}},
		{"environment", Sources{Environment: []string{"LIFELINE_LOOPS=x", "LIFELINE_MAX_PAYLOAD=y", "LIFELINE_AUTH_KEY=z"}},
			[]string{"LIFELINE_LOOPS", "LIFELINE_MAX_PAYLOAD", "LIFELINE_AUTH_KEY"}},
		{"two sources", Sources{YAML: []byte("lops: 2\n"), Environment: []string{"LIFELINE_LOOPS=x"}}, []string{"lops", "LIFELINE_LOOPS"}},
	} {
		_, err := Load(tt.sources)
		if err == nil {
			t.Errorf("%s: no fault", tt.name)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", tt.name, err, want)
			}
		}
		if strings.Contains(err.Error(), "config.") || strings.Contains(err.Error(), "time.") {
			t.Errorf("%s: %q names a Go type", tt.name, err)
		}
	}
}

func TestEmptyFileAndEmptyLists(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n"} {
		if c, err := Load(Sources{YAML: []byte(text)}); err != nil || !reflect.DeepEqual(c, Default()) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if c, err := Load(Sources{Environment: []string{"LIFELINE_LISTEN=", "LIFELINE_HTTP="}}); err != nil || len(c.Listen) != 0 || c.HTTP != "" {
		t.Errorf("empty variables: %v, %v, %v", c.Listen, c.HTTP, err)
	}
}

func TestUnknownVariables(t *testing.T) {
	got := Unknown([]string{"LIFELINE_SERVER=a", "LIFELINE_TOKEN=b", "LIFELINE_LOPS=1", "LIFELINE_LOOPS=1", "lifeline_loops=1", "LIFELINE_data_dir=x", "PATH=/bin", "LIFELINE_=x"})
	if want := []string{"LIFELINE_", "LIFELINE_LOPS", "LIFELINE_data_dir"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Size
		back string
	}{
		{"0", 0, "0"},
		{"512", 512, "512"},
		{"1024", 1024, "1KiB"},
		{"32KiB", 32 << 10, "32KiB"},
		{" 64 MiB ", 64 << 20, "64MiB"},
		{"2GiB", 2 << 30, "2GiB"},
		{"1025", 1025, "1025"},
		{"8589934591GiB", 8589934591 << 30, "8589934591GiB"},
	} {
		var s Size
		if err := s.Set(tt.text); err != nil || s != tt.want || s.String() != tt.back {
			t.Errorf("%q: got %d %q, %v; want %d %q", tt.text, s, s, err, tt.want, tt.back)
		}
	}
	for _, text := range []string{"", "KiB", "-1", "1.5KiB", "1kb", "1KB", "8589934592GiB", "99999999999999999999"} {
		var s Size
		if err := s.Set(text); err == nil {
			t.Errorf("%q was read as %d", text, s)
		}
	}
}

func FuzzLoad(f *testing.F) {
	text, err := Default().YAML()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("auth: {keys: [{kid: a, algorithm: EdDSA, file: b}]}"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Load(Sources{YAML: text})
		if err != nil {
			return
		}
		_ = c.Resolve(roomy).Validate(roomy)
		again, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Sources{YAML: again}); err != nil {
			t.Fatalf("%v in\n%s", err, again)
		}
	})
}
