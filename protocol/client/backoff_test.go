package client

import (
	"testing"
	"time"

	"lifeline/protocol"
)

var epochTime = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func always(v float64) func() float64 { return func() float64 { return v } }

func close1(retry protocol.RetryClass, minMs, windowMs uint32) protocol.Status {
	return protocol.Status{Code: 999, Retry: retry, RetryMinMs: minMs, RetryWindowMs: windowMs}
}

// A code that no client knows is obeyed by its class [P-5.1], so every case uses one. Waits are those of [P-5.5].
func TestWaitAfterAnEnding(t *testing.T) {
	dropped := ending{online: true, lasted: time.Hour}
	brief := ending{online: true, lasted: 59 * time.Second}
	for _, tt := range []struct {
		name       string
		failures   int
		e          ending
		background bool
		random     float64
		wait       time.Duration
		want       plan
	}{
		{name: "first try after a drop", failures: 7, e: dropped, random: 1, wait: 2 * time.Second},
		{name: "the same, half way", e: dropped, random: 0.5, wait: time.Second},
		{name: "the same, in background", e: dropped, background: true, random: 1, wait: 15 * time.Second},
		{name: "a session of less than a minute clears nothing", failures: 3, e: brief, random: 1, wait: 8 * time.Second},
		{name: "no connection, the first time", random: 1, wait: time.Second},
		{name: "no connection, the fourth time", failures: 3, random: 1, wait: 8 * time.Second},
		{name: "full jitter begins at zero", failures: 3, random: 0, wait: 0},
		{name: "the cap", failures: 40, random: 1, wait: 30 * time.Second},
		{name: "the cap in background", failures: 40, background: true, random: 1, wait: 300 * time.Second},
		{name: "a hint", failures: 9, e: ending{status: close1(protocol.RetryAfter, 4000, 10_000)}, random: 0.5, wait: 9 * time.Second, want: plan{hinted: true}},
		{name: "a hint for ten minutes", e: ending{status: close1(protocol.RetryAfter, 600_000, 0)}, wait: 10 * time.Minute, want: plan{hinted: true}},
		{name: "a hint for longer", e: ending{status: close1(protocol.RetryAfter, 540_000, 600_000)}, random: 1, wait: 10 * time.Minute, want: plan{hinted: true}},
		{name: "after, without a hint", failures: 2, e: ending{status: close1(protocol.RetryAfter, 0, 0)}, random: 1, wait: 4 * time.Second},
		{name: "now", e: ending{status: close1(protocol.RetryNow, 0, 0)}, random: 1, wait: 0},
		{name: "now, again", failures: 1, e: ending{status: close1(protocol.RetryNow, 0, 0)}, random: 1, wait: 2 * time.Second},
		{name: "a fresh token", e: ending{status: close1(protocol.RetryRefreshToken, 0, 0)}, random: 1, want: plan{renew: true}},
		{name: "a fresh token, again", failures: 1, e: ending{status: close1(protocol.RetryRefreshToken, 0, 0)}, random: 1, wait: 2 * time.Second, want: plan{renew: true}},
		{name: "ignored", e: ending{online: true, status: close1(protocol.RetryIgnore, 0, 0)}, random: 1, wait: 2 * time.Second},
		{name: "a class of the future", failures: 2, e: ending{status: close1(99, 0, 0)}, random: 1, wait: 4 * time.Second},
		{name: "stop", e: ending{status: close1(protocol.RetryStop, 1, 1)}, want: plan{stop: true}},
		// [P-5.3]
		{name: "the request is wrong", e: ending{status: close1(protocol.RetryFixRequest, 0, 0)}, want: plan{stop: true}},
	} {
		b := backoff{random: always(tt.random), failures: tt.failures}
		got := b.ended(epochTime, tt.e, tt.background)
		want := tt.want
		if !want.stop {
			want.at = epochTime.Add(tt.wait)
		}
		if !got.stop && !got.at.Equal(want.at) {
			t.Errorf("%s: next try in %v, want %v", tt.name, got.at.Sub(epochTime), tt.wait)
		}
		got.at, want.at = time.Time{}, time.Time{}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, want)
		}
	}
}

func TestAMinuteOnlineClearsTheCount(t *testing.T) {
	b := backoff{random: always(1)}
	for range 5 {
		b.ended(epochTime, ending{}, false)
	}
	if b.failures != 5 {
		t.Fatalf("%d failures after 5 endings", b.failures)
	}
	b.ended(epochTime, ending{online: true, lasted: time.Minute}, false)
	if b.failures != 1 {
		t.Errorf("%d failures, want the one that just ended", b.failures)
	}
}

// [P-5.5]: after a change of network, at most every 5 s.
func TestHurry(t *testing.T) {
	later := plan{at: epochTime.Add(time.Minute)}
	b := backoff{random: always(1)}
	if got := b.hurry(epochTime, later); !got.at.Equal(epochTime) {
		t.Errorf("the first is at %v, want at once", got.at.Sub(epochTime))
	}
	now := epochTime.Add(time.Second)
	if got := b.hurry(now, later); got.at.Sub(epochTime) != 5*time.Second {
		t.Errorf("a second later: at %v, want 5 s after the first", got.at.Sub(epochTime))
	}
	if got := b.hurry(now, later); got.at.Sub(epochTime) != 10*time.Second {
		t.Errorf("once more: at %v, want 10 s", got.at.Sub(epochTime))
	}
	soon := plan{at: now}
	if got := b.hurry(now, soon); got != soon {
		t.Errorf("an earlier plan became %+v", got)
	}
	for _, kept := range []plan{{at: later.at, hinted: true}, {stop: true}} {
		b := backoff{random: always(1)}
		if got := b.hurry(epochTime, kept); got != kept {
			t.Errorf("%+v became %+v", kept, got)
		}
	}
}

// An outage of two days: never more than 30 tries in an hour [P-5.5], never more than three minutes and a cap without one.
func TestTriesAnHour(t *testing.T) {
	for name, next := range map[string]func(b *backoff, now time.Time) plan{
		"patient": func(b *backoff, now time.Time) plan { return b.ended(now, ending{}, false) },
		"hurried": func(b *backoff, now time.Time) plan { return b.hurry(now, b.ended(now, ending{}, false)) },
		"moving":  func(b *backoff, now time.Time) plan { return b.moved(now, 0) },
		"sent off": func(b *backoff, now time.Time) plan {
			return b.ended(now, ending{status: close1(protocol.RetryNow, 0, 0)}, false)
		},
		"hinted": func(b *backoff, now time.Time) plan {
			return b.ended(now, ending{status: close1(protocol.RetryAfter, 10, 0)}, false)
		},
	} {
		b := backoff{random: always(0.1)}
		now := epochTime
		var tries []time.Time
		for now.Before(epochTime.Add(48 * time.Hour)) {
			b.tried(now)
			tries = append(tries, now)
			p := next(&b, now)
			if gap := p.at.Sub(now); gap > tryEvery+capForeground {
				t.Fatalf("%s: nothing is tried for %v", name, gap)
			}
			now = p.at
		}
		for i := range tries {
			in := 0
			for _, other := range tries[i:] {
				if other.Sub(tries[i]) < time.Hour {
					in++
				}
			}
			if in > 30 {
				t.Fatalf("%s: %d tries within an hour", name, in)
			}
		}
		if len(tries) < 48*20 {
			t.Errorf("%s: only %d tries in two days", name, len(tries))
		}
	}
}
