package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"lifeline/server/config"
)

// call runs one command line without the surroundings of the test.
func call(t *testing.T, environment []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	machine := func() (config.Machine, error) { return config.Machine{Cores: 2, Descriptors: 20_000}, nil }
	code = execute(t.Context(), surroundings{environment, machine, &out, &err}, args)
	return code, out.String(), err.String()
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lifeline.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckPrintsWhatItReadsBack(t *testing.T) {
	code, first, stderr := call(t, nil, "check")
	if code != 0 || stderr != "" {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, want := range []string{"- tcp4://127.0.0.1:7400", "http: 127.0.0.1:7401", "data_dir: ./data", "loops: 2", "max_connections: 19232", "max_payload: 32KiB"} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is missing from\n%s", want, first)
		}
	}
	if _, second, _ := call(t, nil, "check", "--config", write(t, first)); second != first {
		t.Errorf("read back:\n%s\nwant:\n%s", second, first)
	}
}

func TestSourcesOfTheFile(t *testing.T) {
	a, b := write(t, "push_window: 1\n"), write(t, "push_window: 2\n")
	for _, tt := range []struct {
		name        string
		environment []string
		args        []string
		want        string
	}{
		{"none", nil, nil, "push_window: 64\n"},
		{"variable", []string{"LIFELINE_CONFIG=" + a}, nil, "push_window: 1\n"},
		{"flag over variable", []string{"LIFELINE_CONFIG=" + a}, []string{"--config", b}, "push_window: 2\n"},
		{"empty flag over variable", []string{"LIFELINE_CONFIG=" + a}, []string{"--config="}, "push_window: 64\n"},
		{"setting over file", []string{"LIFELINE_CONFIG=" + a, "LIFELINE_PUSH_WINDOW=3"}, nil, "push_window: 3\n"},
		{"flag over all", []string{"LIFELINE_CONFIG=" + a, "LIFELINE_PUSH_WINDOW=3"}, []string{"--push-window=4"}, "push_window: 4\n"},
	} {
		code, stdout, stderr := call(t, tt.environment, append([]string{"check"}, tt.args...)...)
		if code != 0 || !strings.Contains(stdout, tt.want) || stderr != "" {
			t.Errorf("%s: code %d, %s%s; want %q", tt.name, code, stderr, stdout, tt.want)
		}
	}
}

func TestUsageFaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"every fault at once", []string{"check", "--loops=65", "--push-window=0"}, []string{"loops is 65", "push_window is 0"}},
		{"the server refuses what check refuses", []string{"--loops=65"}, []string{"loops is 65"}},
		{"development tokens in the open", []string{"--listen=tcp4://0.0.0.0:7400"}, []string{"auth.mode is development", "tcp4://0.0.0.0:7400"}},
		{"missing file", []string{"--config=/does/not/exist"}, []string{"/does/not/exist"}},
		{"unknown key", []string{"check", "--config", write(t, "lops: 1\n")}, []string{`line 1: unknown key "lops"`}},
		{"missing key file", []string{"check", "--auth-mode=jwt", "--auth-key=a:EdDSA:/does/not/exist"}, []string{"/does/not/exist"}},
		{"missing files of keys and passwords", []string{"check", "--auth-mode=jwt", "--auth-key=a:EdDSA:/does/not/exist", "--redis=h:1", "--redis-password-file=/nor/does/this"},
			[]string{"/does/not/exist", "/nor/does/this"}},
		{"unknown flag", []string{"--lops"}, []string{"--lops"}},
		{"unknown command", []string{"serve"}, []string{`unknown command "serve"; lifelined --help says what there is`}},
		{"argument", []string{"check", "x"}, []string{`"x"`}},
	} {
		code, stdout, stderr := call(t, nil, tt.args...)
		if code != exitUsage || stdout != "" {
			t.Errorf("%s: code %d, stdout %q", tt.name, code, stdout)
		}
		for _, want := range tt.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: %q lacks %q", tt.name, stderr, want)
			}
		}
	}
}

func TestCheckNamesStrangeVariables(t *testing.T) {
	code, _, stderr := call(t, []string{"LIFELINE_LOPS=1", "LIFELINE_CONFIG="}, "check")
	if code != 0 || !strings.Contains(stderr, "LIFELINE_LOPS") || strings.Contains(stderr, "LIFELINE_CONFIG") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

func TestHelpHasExamples(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"check", "--help"}, {"version", "--help"}} {
		code, stdout, _ := call(t, nil, args...)
		if code != 0 || !strings.Contains(stdout, "Examples:\n  lifelined") {
			t.Errorf("%v: code %d, %s", args, code, stdout)
		}
	}
}

func TestVersionLine(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}, {Key: "CGO_ENABLED", Value: "1"},
	}}
	if got, want := versionLine(info), "lifelined v1.2.3 revision abc modified go1.26.8 cgo=1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if code, stdout, _ := call(t, nil, "version"); code != 0 || !strings.HasPrefix(stdout, "lifelined ") {
		t.Errorf("code %d, %q", code, stdout)
	}
}

func TestWarnings(t *testing.T) {
	var out bytes.Buffer
	cfg := config.Default()
	cfg.Store = config.StoreMemory
	warn(newLogger(config.Log{Level: "warn", Format: "json"}, &out), cfg, []string{"LIFELINE_LOPS=1"})
	for _, want := range []string{"development tokens", "nothing survives", "LIFELINE_LOPS"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from %s", want, out.String())
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines != 3 {
		t.Errorf("%d lines, want 3:\n%s", lines, out.String())
	}
	out.Reset()
	cfg.Store, cfg.Auth.Mode = config.StorePebble, config.AuthJWT
	warn(newLogger(cfg.Log, &out), cfg, nil)
	if out.Len() != 0 {
		t.Errorf("a sober configuration warns: %s", out.String())
	}
}
