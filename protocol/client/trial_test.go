package client

import (
	"testing"
	"time"
)

// asking is a prober with a trial of 240 s under way since epochTime.
func asking(t *testing.T) *Prober {
	p := NewProber(ProberState{}, always(0.5))
	p.Join(homeKey, epochTime)
	p.Connected()
	p.Pong(echoMost)
	if c := p.Ping(240*sec, echoMost, epochTime); c != 240*sec {
		t.Fatalf("asked for %v", c)
	}
	p.Pong(echoMost)
	return p
}

func TestTrial(t *testing.T) {
	after := func(d time.Duration) time.Time { return epochTime.Add(d) }
	for _, tt := range []struct {
		name      string
		then      func(p *Prober)
		low, high time.Duration
	}{
		{"an Echo", func(p *Prober) { p.Echo(after(240 * sec)) }, 240 * sec, 0},
		{"a late Echo", func(p *Prober) { p.Echo(after(252 * sec)) }, 240 * sec, 0},
		{"an Echo read after sleep", func(p *Prober) { p.Echo(after(253 * sec)) }, 0, 0},
		{"no Echo and a Pong", func(p *Prober) { p.Ping(240*sec, echoMost, after(252*sec)); p.Pong(echoMost) }, 168 * sec, 240 * sec},
		{"the phone slept", func(p *Prober) { p.Ping(240*sec, echoMost, after(258*sec)); p.Pong(echoMost) }, 0, 0},
		{"a push before", func(p *Prober) { p.Frame(); p.Pong(echoMost) }, 0, 0},
		{"a push behind the Ping", func(p *Prober) {
			p.Ping(240*sec, echoMost, after(252*sec))
			p.Delayed(252*sec, 240*sec, after(252*sec))
			p.Frame()
			p.Pong(echoMost)
		}, 168 * sec, 240 * sec},
		{"another network", func(p *Prober) { p.Join(8, after(100*sec)); p.Join(homeKey, after(100*sec)); p.Echo(after(240 * sec)) }, 0, 0},
		{"another connection", func(p *Prober) { p.Connected(); p.Echo(after(240 * sec)) }, 0, 0},
		{"it died", func(p *Prober) { p.Ping(240*sec, echoMost, after(252*sec)); p.Died(252*sec, 240*sec, after(264*sec)) }, 0, 0},
		{"it was reset meanwhile", func(p *Prober) { p.Died(100*sec, 240*sec, after(100*sec)) }, 0, 0},
		{"an Echo that nobody asked for", func(p *Prober) { p.Frame(); p.Echo(after(240 * sec)) }, 0, 0},
	} {
		p := asking(t)
		tt.then(p)
		if low, high := p.Bounds(); low != tt.low || high != tt.high {
			t.Errorf("%s: bounds %v, %v, want %v, %v", tt.name, low, high, tt.low, tt.high)
		}
		if !p.Due().IsZero() {
			t.Errorf("%s: a trial still runs", tt.name)
		}
	}
}

func TestRefusedTrial(t *testing.T) {
	for _, limit := range []time.Duration{0, 239 * sec} {
		p := NewProber(ProberState{}, always(0.5))
		p.Join(homeKey, epochTime)
		p.Pong(echoMost)
		p.Ping(240*sec, echoMost, epochTime)
		if p.Pong(limit); !p.Due().IsZero() {
			t.Errorf("limit %v: the trial goes on", limit)
		}
	}
}

func TestNoTrial(t *testing.T) {
	for _, tt := range []struct {
		name  string
		key   uint64
		limit time.Duration
		good  bool
		want  time.Duration
	}{
		{"after a good heartbeat", homeKey, echoMost, true, 240 * sec},
		{"before one", homeKey, echoMost, false, 0},
		{"in foreground", homeKey, 0, true, 0},
		{"hardly allowed", homeKey, 89 * sec, true, 0},
		{"just allowed", homeKey, 90 * sec, true, 90 * sec},
		{"allowed for less", homeKey, 100 * sec, true, 100 * sec},
		{"on a network without a key", 0, echoMost, true, 0},
	} {
		p := NewProber(ProberState{}, always(0.5))
		p.Join(tt.key, epochTime)
		p.Connected()
		if tt.good {
			p.Pong(tt.limit)
		}
		if got := p.Ping(240*sec, tt.limit, epochTime); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestNothingIsKnownWithoutAKey(t *testing.T) {
	p := NewProber(ProberState{}, always(0.5))
	p.Join(0, epochTime)
	p.Died(800*sec, 240*sec, epochTime)
	p.Died(800*sec, 240*sec, epochTime)
	p.Delayed(800*sec, 240*sec, epochTime)
	if low, high := p.Bounds(); low != 0 || high != 0 || p.Interval(240*sec) != 240*sec {
		t.Errorf("bounds %v, %v, interval %v", low, high, p.Interval(240*sec))
	}
	if len(p.State().Networks) != 0 {
		t.Errorf("kept %v", p.State().Networks)
	}
}

// A trial that never comes to an end is begun 24 times a day and no more.
func TestTrialsPerDay(t *testing.T) {
	p := NewProber(ProberState{}, always(0.5))
	p.Join(homeKey, epochTime)
	p.Pong(echoMost)
	perDay := map[int]int{}
	for now := epochTime; now.Sub(epochTime) < 3*day; now = now.Add(4 * minute) {
		if p.Ping(240*sec, echoMost, now) > 0 {
			perDay[int(now.Sub(epochTime)/day)]++
		}
		p.Frame()
	}
	for d := range 3 {
		if perDay[d] != trialsPerDay {
			t.Errorf("day %d: %d trials", d, perDay[d])
		}
	}
}
