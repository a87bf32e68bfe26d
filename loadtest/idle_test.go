package loadtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lifeline/protocol"
)

func runIdle(t *testing.T, o *Idle) *IdleReport {
	t.Helper()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	r, err := o.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestIdleConnections(t *testing.T) {
	s := serveStub(t, nil)
	o := &Idle{Target: s.target(), Connections: 50, Users: "idle", Hold: 50 * time.Millisecond}
	o.Sources = []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}
	r := runIdle(t, o)
	if err := r.Fault(); err != nil || r.Connections.Connected != 50 || r.Connect.Count != 50 || r.Connect.Max <= 0 {
		t.Errorf("%v\n%s", err, r.Text())
	}
	from := map[string]int{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		host, _, _ := strings.Cut(c.RemoteAddr().String(), ":")
		from[host]++
	}
	if want := "map[127.0.0.1:17 127.0.0.2:17 127.0.0.3:16]"; fmt.Sprint(from) != want {
		t.Errorf("they came from %v, want %s", from, want)
	}
	if len(s.users) != 50 {
		t.Errorf("%d users logged in", len(s.users))
	}
}

// TestHoldingIsMeasured: a server that wants a ping every second, and whose metrics say that it used ten seconds of CPU.
func TestHoldingIsMeasured(t *testing.T) {
	var asked atomic.Int32
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %d.5\n", 10*asked.Add(1))
	}))
	defer metrics.Close()
	s := serveStub(t, func(s *stub) { s.beat = 1 })
	r, h := (*IdleReport)(nil), (*Holding)(nil)
	for hold := 2 * time.Second; h == nil || h.Pings == 0 && hold < patience; hold *= 2 { // a busy machine may ping late
		asked.Store(0)
		r = runIdle(t, &Idle{Target: s.target(), Connections: 20, Users: "idle", Hold: hold, Metrics: metrics.URL + "/metrics"})
		if h = r.Holding; r.Fault() != nil || h == nil {
			t.Fatalf("%v\n%s", r.Fault(), r.Text())
		}
	}
	if h.Pings == 0 {
		t.Fatalf("nobody pinged\n%s", r.Text())
	}
	if h.WireBytes < 54 { // the segment with the Ping alone
		t.Errorf("%v bytes on the wire for a ping", h.WireBytes)
	}
	if h.ServerCPU != 10 || asked.Load() != 2 {
		t.Errorf("asked %d times: %+v", asked.Load(), h)
	}
}

func TestHolding(t *testing.T) {
	from := reading{at: 10 * second, pings: 100, wire: 5000, seconds: 1, measured: true}
	for _, tt := range []struct {
		name string
		to   reading
		want Holding
	}{
		{"pings", reading{at: 30 * second, pings: 2100, wire: 325_000, seconds: 1.5, measured: true},
			Holding{Seconds: 20, Pings: 2000, WireBytes: 160, ServerCPU: 0.5, ServerShare: 2.5, PingCPU: 250}},
		{"no ping", reading{at: 30 * second, pings: 100, wire: 5000, seconds: 1.5, measured: true},
			Holding{Seconds: 20, ServerCPU: 0.5, ServerShare: 2.5}},
		{"a lost connection has taken its bytes along", reading{at: 30 * second, pings: 2100, lost: 1, wire: 3000, seconds: 1.5, measured: true},
			Holding{Seconds: 20, Pings: 2000, ServerCPU: 0.5, ServerShare: 2.5, PingCPU: 250}},
		{"a server that was not asked", reading{at: 30 * second, pings: 2100, wire: 325_000},
			Holding{Seconds: 20, Pings: 2000, WireBytes: 160}},
	} {
		if got := holding(from, tt.to); *got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, *got, tt.want)
		}
	}
}

func TestMetricsThatSayNothing(t *testing.T) {
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	o := &Idle{Target: serveStub(t, nil).target(), Connections: 1, Users: "idle", Metrics: empty.URL}
	r, err := o.Run(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "404") || r.Holding != nil || r.Connections.Connected != 1 {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestIdleConnectionsComeAtTheirRate(t *testing.T) {
	began := time.Now()
	r := runIdle(t, &Idle{Target: serveStub(t, nil).target(), Connections: 20, Users: "idle", Rate: 100})
	if took := time.Since(began); took < 190*time.Millisecond {
		t.Errorf("20 at 100 a second took %v", took)
	}
	if err := r.Fault(); err != nil {
		t.Error(err)
	}
}

func TestSomeAreRefusedAndSomeAreLost(t *testing.T) {
	s := serveStub(t, func(s *stub) {
		s.beat = 36_000 // a Ping on its way when the stub hangs up would make a reset of it
		s.refuse = func(user string) protocol.Code {
			switch {
			case strings.HasSuffix(user, "1"):
				return protocol.CodeTooManyConnections
			case strings.HasSuffix(user, "2"):
				return protocol.CodeBanned
			}
			return 0
		}
	})
	o := &Idle{Target: s.target(), Connections: 20, Users: "idle", Hold: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	hungUp := false
	r, err := o.Run(ctx, func(p Progress) {
		switch {
		case p.Phase != "holding":
		case !hungUp:
			hungUp = true
			s.hangUp(3)
		case p.Detail == "13 connections": // 20, less 4 refused and 3 lost
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	c := &r.Connections
	if got, want := c.Refused.String(), "BANNED 2, TOO_MANY_CONNECTIONS 2"; got != want || c.Connected != 16 {
		t.Errorf("%d connected, refused %q, want %q", c.Connected, got, want)
	}
	if got, want := c.Lost.String(), "EOF 3"; got != want {
		t.Errorf("lost %q, want %q", got, want)
	}
	if err := r.Fault(); !errors.Is(err, ErrRefused) {
		t.Errorf("fault: %v", err)
	}
}

func TestOptionsOfIdle(t *testing.T) {
	good := Idle{Target: Target{Server: "tcp4://127.0.0.1:7400"}, Connections: 1, Users: "idle"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	bad := Idle{Rate: -1, Hold: -1, Users: "\n", Metrics: "127.0.0.1:7401"}
	err := bad.Validate()
	for _, want := range []string{"server is", "at least one connection", "rate is -1", "hold is -1", "users is", "metrics is"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}
