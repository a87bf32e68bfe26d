package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

func start(t *testing.T, o Options) *Server {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func ask(t *testing.T, s *Server, method, path string) (status int, body string) {
	t.Helper()
	_, port, _ := net.SplitHostPort(s.Addr().String())
	request, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:"+port+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestMetrics(t *testing.T) {
	first, second := metrics.NewSet(), metrics.NewSet()
	first.NewCounter("lifeline_frames_total").Add(7)
	second.NewGauge("lifeline_sessions", func() float64 { return 3 })
	s := start(t, Options{Address: "127.0.0.1:0", Sets: []*metrics.Set{first, second}})
	status, page := ask(t, s, http.MethodGet, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for _, want := range []string{
		"# TYPE lifeline_frames_total counter\nlifeline_frames_total 7\n",
		"# TYPE lifeline_sessions gauge\nlifeline_sessions 3\n",
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(page, "process_open_fds") {
		t.Error("the page counts descriptors")
	}
	if strings.Index(page, "lifeline_frames_total") > strings.Index(page, "lifeline_sessions") {
		t.Error("the sets are out of order")
	}
}

func TestHealth(t *testing.T) {
	var fault error
	s := start(t, Options{Address: "127.0.0.1:0", Ready: func() error { return fault }})
	for _, tt := range []struct {
		path   string
		fault  error
		status int
		body   string
	}{
		{"/livez", nil, 200, "ok\n"},
		{"/readyz", nil, 200, "ok\n"},
		{"/readyz", errors.New("draining"), 503, "draining\n"},
		{"/livez", errors.New("draining"), 200, "ok\n"},
	} {
		fault = tt.fault
		if status, body := ask(t, s, http.MethodGet, tt.path); status != tt.status || body != tt.body {
			t.Errorf("%s with %v: %d %q, want %d %q", tt.path, tt.fault, status, body, tt.status, tt.body)
		}
	}
}

func TestReadyWithoutAQuestion(t *testing.T) {
	s := start(t, Options{Address: "127.0.0.1:0"})
	if status, _ := ask(t, s, http.MethodGet, "/readyz"); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
}

func TestOnlyWhatIsServed(t *testing.T) {
	s := start(t, Options{Address: "127.0.0.1:0"})
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/", 404},
		{"GET", "/metrics/x", 404},
		{"POST", "/metrics", 405},
		{"DELETE", "/livez", 405},
	} {
		if status, _ := ask(t, s, tt.method, tt.path); status != tt.status {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.path, status, tt.status)
		}
	}
}

func TestProfilesOnLoopbackOnly(t *testing.T) {
	for _, tt := range []struct {
		address string
		status  int
	}{
		{"127.0.0.1:0", 200},
		{"localhost:0", 200},
		{"0.0.0.0:0", 404},
		{":0", 404},
	} {
		s := start(t, Options{Address: tt.address})
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/symbol"} {
			if status, _ := ask(t, s, http.MethodGet, path); status != tt.status {
				t.Errorf("%s%s: %d, want %d", tt.address, path, status, tt.status)
			}
		}
	}
}

func TestAddressInUse(t *testing.T) {
	s := start(t, Options{Address: "127.0.0.1:0"})
	other, err := New(Options{Address: s.Addr().String(), Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		_ = other.Close()
		t.Fatal("a second server took the address")
	}
	if !strings.Contains(err.Error(), "http on "+s.Addr().String()+": another process listens there") {
		t.Errorf("it said %v", err)
	}
}

func TestClose(t *testing.T) {
	s := start(t, Options{Address: "127.0.0.1:0"})
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
	if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("the address still answers")
	}
}

// TestHTTPTakesNoMoreThanItsShare of the descriptors that are kept for what is not a client. Those above it wait, and are
// served when an earlier one goes.
func TestHTTPTakesNoMoreThanItsShare(t *testing.T) {
	s := start(t, Options{Address: "127.0.0.1:0"})
	var idle []net.Conn
	for range 64 {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
	}
	taken := s.listener.(*limited).slots
	for deadline := time.Now().Add(20 * time.Second); len(taken) < 64 && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
	if len(taken) != 64 || cap(taken) != 64 {
		t.Fatalf("%d of %d connections are taken, want 64 of 64", len(taken), cap(taken))
	}
	_ = idle[0].Close()
	if status, body := ask(t, s, http.MethodGet, "/livez"); status != http.StatusOK {
		t.Errorf("after one has gone: %d %s", status, body)
	}
}

// Connections above the limit wait, and are served when an earlier one goes.
func TestConnectionsAreBounded(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := limit(inner, 2)
	accepted := make(chan net.Conn, 10)
	go func() {
		defer close(accepted)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	for range 3 {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	first, second := <-accepted, <-accepted
	if held := len(listener.(*limited).slots); held != 2 {
		t.Fatalf("%d slots held, want 2", held)
	}
	_ = first.Close()
	_ = first.Close() // gives no second slot back
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	select {
	case third := <-accepted:
		defer third.Close()
	case <-ctx.Done():
		t.Fatal("the third connection was never accepted")
	}
	if held := len(listener.(*limited).slots); held != 2 {
		t.Errorf("%d slots held, want 2", held)
	}
	defer second.Close()
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	if _, open := <-accepted; open {
		t.Error("a fourth connection was accepted")
	}
}

// A name that somebody gave to 127.0.0.1 is not trusted with what only this machine may see.
func TestDebugByTheNamesOfLoopback(t *testing.T) {
	s := start(t, Options{Address: "127.0.0.1:0"})
	for _, tt := range []struct {
		path, host string
		status     int
	}{
		{"/debug/pprof/cmdline", "127.0.0.1:7401", 200},
		{"/debug/pprof/cmdline", "localhost", 200},
		{"/debug/pprof/cmdline", "localhost:9", 200},
		{"/debug/pprof/cmdline", "[::1]", 200},
		{"/debug/pprof/cmdline", "[::1]:7401", 200},
		{"/debug/pprof/cmdline", "evil.example:7401", 403},
		{"/debug/pprof/cmdline", "evil.example", 403},
		{"/debug/pprof/cmdline", "127.0.0.1.evil.example", 403},
		{"/debug/devices", "evil.example:7401", 403},
		{"/metrics", "evil.example:7401", 200},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = tt.host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != tt.status {
			t.Errorf("%s of %s: %d, want %d", tt.path, tt.host, response.StatusCode, tt.status)
		}
	}
}
