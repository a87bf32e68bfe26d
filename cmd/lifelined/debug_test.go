package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"lifeline/protocol"
)

func TestDebugOverHTTP(t *testing.T) {
	s := serve(t, "")
	bob := login(t, s.addr, "bob", "phone")
	for _, tt := range []struct {
		path string
		want int
	}{
		{"/livez", 200}, {"/readyz", 200}, {"/metrics", 200}, {"/debug/pprof/cmdline", 200},
		{"/debug/devices?user=bob", 200}, {"/debug/devices", 400}, {"/debug/devices?user=a%1fb", 400},
		{"/debug/presence?user=bob&user=nobody", 200}, {"/debug/presence", 400}, {"/debug/presence?user=a%1fb", 400},
		{"/debug/presence?user=bob" + strings.Repeat("&user=x", 199), 200}, {"/debug/presence?user=bob" + strings.Repeat("&user=x", 200), 400},
		{"/debug/trace?conn=x", 400}, {"/debug/trace?conn=0.0.99", 404}, {"/debug/trace?conn=63.1.1", 404},
	} {
		got := http.StatusServiceUnavailable
		eventually(t, tt.path+" is told in time", func() bool {
			res, err := http.Get("http://" + s.http + tt.path)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			got = res.StatusCode
			return got != http.StatusServiceUnavailable
		})
		if got != tt.want {
			t.Errorf("%s: %d, want %d", tt.path, got, tt.want)
		}
	}
	var devices []struct {
		Device  string
		Session struct {
			ConnID string `json:"conn_id"`
		}
	}
	res, err := http.Get("http://" + s.http + "/debug/devices?user=bob")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&devices); err != nil || len(devices) != 1 || devices[0].Device != "phone" {
		t.Fatalf("got %+v, %v", devices, err)
	}
	trace, err := http.Get("http://" + s.http + "/debug/trace?conn=" + devices[0].Session.ConnID)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Body.Close()
	lines := bufio.NewScanner(trace.Body)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("the trace says %q, want %q (%v)", lines.Text(), want, lines.Err())
		}
	}
	next(`tracing 0.`)
	bob.send(&protocol.Ping{})
	next("< ping")
	next("> pong")
}
