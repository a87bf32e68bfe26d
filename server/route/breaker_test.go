package route

import (
	"testing"
	"time"
)

func TestBreakerEveryPair(t *testing.T) {
	const same = 99
	for _, tt := range []struct {
		from State
		next map[Event]State
	}{
		{Healthy, map[Event]State{Probed: same, Errored: Suspect, Doubted: Recovering, Reconciled: same}},
		{Suspect, map[Event]State{Probed: Recovering, Errored: same, Doubted: same, Reconciled: same}},
		{Degraded, map[Event]State{Probed: Recovering, Errored: same, Doubted: same, Reconciled: same}},
		{Recovering, map[Event]State{Probed: same, Errored: Degraded, Doubted: same, Reconciled: Healthy}},
	} {
		for e := range Event(len(events)) {
			want, ok := tt.next[e]
			if !ok {
				t.Fatalf("%v and %v: the table has no line", tt.from, e)
			}
			if want == same {
				want = tt.from
			}
			start := time.UnixMilli(0)
			b := Breaker{State: tt.from, Since: start}
			if tt.from == Suspect {
				b.Failures = 1
			}
			got := b.Next(e, start.Add(time.Second))
			if got.State != want {
				t.Errorf("%v and %v: got %v, want %v", tt.from, e, got.State, want)
			}
			if moved := got.Since != b.Since; moved != (want != tt.from) {
				t.Errorf("%v and %v: since is %v", tt.from, e, got.Since)
			}
			if got.Trusted() != (want == Healthy) || got.Usable() != (want == Healthy || want == Recovering) {
				t.Errorf("%v: trusted %v, usable %v", want, got.Trusted(), got.Usable())
			}
		}
	}
}

func TestBreakerScripts(t *testing.T) {
	type step struct {
		after time.Duration
		event Event
		want  State
		probe time.Duration // from the step on; checked while the table is not usable
	}
	for _, tt := range []struct {
		name  string
		start State
		steps []step
	}{
		{"a single failure", Healthy, []step{
			{0, Errored, Suspect, suspectPause}, {suspectPause, Probed, Recovering, 0}, {0, Reconciled, Healthy, 0}}},
		{"three failures", Healthy, []step{
			{0, Errored, Suspect, suspectPause}, {suspectPause, Errored, Suspect, suspectPause},
			{suspectPause, Errored, Degraded, degradedPause}, {degradedPause, Errored, Degraded, degradedPause},
			{degradedPause, Probed, Recovering, 0}}},
		{"failures that took long", Healthy, []step{
			{0, Errored, Suspect, suspectPause}, {suspectAtMost, Errored, Degraded, degradedPause}}},
		{"a failure while recovering", Degraded, []step{
			{0, Probed, Recovering, 0}, {time.Second, Errored, Degraded, degradedPause}, {degradedPause, Probed, Recovering, 0},
			{time.Second, Reconciled, Healthy, 0}, {time.Second, Errored, Suspect, suspectPause}}},
		{"a doubt", Healthy, []step{
			{0, Doubted, Recovering, 0}, {0, Probed, Recovering, 0}, {0, Doubted, Recovering, 0}, {0, Reconciled, Healthy, 0}}},
	} {
		now := time.UnixMilli(0)
		b := Breaker{State: tt.start, Since: now}
		for i, s := range tt.steps {
			now = now.Add(s.after)
			b = b.Next(s.event, now)
			if b.State != s.want {
				t.Fatalf("%s, step %d: got %v, want %v", tt.name, i, b.State, s.want)
			}
			if !b.Usable() && b.Probe.Sub(now) != s.probe {
				t.Errorf("%s, step %d: the next probe is in %v, want %v", tt.name, i, b.Probe.Sub(now), s.probe)
			}
		}
	}
	if b := NewBreaker(time.UnixMilli(5)); b.State != Recovering || b.Trusted() {
		t.Errorf("a new one is %v", b.State)
	}
}

func TestNamesOfStates(t *testing.T) {
	for s, name := range map[State]string{Healthy: "healthy", Suspect: "suspect", Degraded: "degraded", Recovering: "recovering"} {
		if s.String() != name {
			t.Errorf("got %q, want %q", s, name)
		}
	}
	for e, name := range map[Event]string{Probed: "probed", Errored: "errored", Doubted: "doubted", Reconciled: "reconciled"} {
		if e.String() != name {
			t.Errorf("got %q, want %q", e, name)
		}
	}
	if NodeUp.String() != "up" || NodeDraining.String() != "draining" {
		t.Error("node states")
	}
}
