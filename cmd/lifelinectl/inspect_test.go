package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// operators is a server's HTTP port as far as these commands use it.
func operators(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/devices", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("user") {
		case "nobody":
			_, _ = w.Write([]byte("[]"))
			return
		case "":
			http.Error(w, "user: want an id", http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(`[{"device":"desktop","platform":"desktop","cursor":null,"lag":3,"last_seen":null,
			"session":{"conn_id":"1.0.1","state":"active","activity":"foreground","acked":0,"sent":3,"head":3,"outbound_bytes":0}},
			{"device":"phone","platform":"ios","cursor":2,"lag":1,"last_seen":"2026-11-30T12:00:00Z","session":null}]`))
	})
	mux.HandleFunc("GET /debug/presence", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`[{"user":"bob","state":"online","last_seen":null,"devices":[{"device":"phone","platform":"ios","suspect":true,"lagging":false}]},
			{"user":"cid","state":"offline","last_seen":"2026-11-30T12:00:00Z","devices":[]}]`))
	})
	mux.HandleFunc("GET /debug/trace", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("conn") != "1.0.1" {
			http.Error(w, "there is no such connection", http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte("12:00:00.000 < ping\n12:00:00.000 > pong\n"))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestDevices(t *testing.T) {
	at := operators(t)
	code, out, errs := run(t, "devices", "bob", "--http", at)
	lines := strings.Split(out, "\n")
	if code != 0 || len(lines) != 4 || !strings.HasPrefix(lines[0], "DEVICE") {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	if f := strings.Join(strings.Fields(lines[1]), " "); f != "desktop desktop - 3 active, foreground 1.0.1 now" {
		t.Errorf("the desktop reads %q", f)
	}
	if f := strings.Join(strings.Fields(lines[2]), " "); !strings.HasPrefix(f, "phone ios 2 1 - - 2026-") {
		t.Errorf("the phone reads %q", f)
	}
	if code, out, _ := run(t, "devices", "bob", "--http", at, "-o", "json"); code != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, `"cursor":2`) {
		t.Errorf("code %d: %s", code, out)
	}
}

// A user without devices is an answer, and scripts find no line.
func TestNoDevices(t *testing.T) {
	at := operators(t)
	for _, format := range []string{"text", "json"} {
		if code, out, errs := run(t, "devices", "nobody", "--http", at, "-o", format); code != 0 || out != "" || !strings.Contains(errs, "no device of nobody") {
			t.Errorf("%s: code %d: %s%s", format, code, out, errs)
		}
	}
}

func TestPresence(t *testing.T) {
	at := operators(t)
	code, out, errs := run(t, "presence", "bob", "cid", "--http", at)
	lines := strings.Split(out, "\n")
	if code != 0 || len(lines) != 3 || strings.Join(strings.Fields(lines[0]), " ") != "bob online phone (ios) suspect" ||
		!strings.HasPrefix(strings.Join(strings.Fields(lines[1]), " "), "cid offline last seen 2026-") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	if code, out, _ := run(t, "presence", "bob", "--http", at, "-o", "json"); code != 0 || strings.Count(out, "\n") != 2 {
		t.Errorf("code %d: %s", code, out)
	}
	if code, _, _ := run(t, "presence"); code != exitUsage {
		t.Errorf("nobody: code %d", code)
	}
}

func TestTrace(t *testing.T) {
	at := operators(t)
	if code, out, errs := run(t, "trace", "1.0.1", "--http", at); code != 0 || out != "12:00:00.000 < ping\n12:00:00.000 > pong\n" {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
}

func TestInspectExitCodes(t *testing.T) {
	at := operators(t)
	for _, tt := range []struct {
		args []string
		want int
	}{
		{[]string{"devices", "", "--http", at}, exitRefused},
		{[]string{"trace", "9.9.9", "--http", at}, exitRefused},
		{[]string{"trace", "1.0.1", "--http", "127.0.0.1:1"}, exitUnreached},
		{[]string{"devices"}, exitUsage},
		{[]string{"trace"}, exitUsage},
	} {
		if code, _, errs := run(t, tt.args...); code != tt.want {
			t.Errorf("%v: code %d, want %d: %s", tt.args, code, tt.want, errs)
		}
	}
}
