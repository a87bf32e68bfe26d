package liveness

import (
	"strings"
	"testing"
	"time"
)

func TestDefaultsAreCoupled(t *testing.T) {
	p := DefaultPolicy()
	if got := p.LongestSilence(); got != 1910*sec {
		t.Errorf("longest silence %v, want 1910 s", got)
	}
	if faults := p.ValidateCoupling(time.Hour, 2400*sec); len(faults) != 0 {
		t.Errorf("defaults: %v", faults)
	}
}

// The walk: every interval and every trial the policy can grant, in both activities, with a kernel that prolongs
// the hold and without, from the last frame to the end of the session. None outlives what ValidateCoupling asks for,
// and one comes so close that it asks for no more than is needed.
func TestCouplingCoversTheWholeRange(t *testing.T) {
	odd := DefaultPolicy()
	odd.Background.Max, odd.Foreground.Interval, odd.Hold.Background = 1200*sec, 400*sec, 300*sec
	short := DefaultPolicy()
	short.Background.Max, short.Background.Interval, short.Desktop = 240*sec, 100*sec, 1800*sec
	for name, p := range map[string]Policy{"default": DefaultPolicy(), "odd": odd, "short": short} {
		bound, longest := p.LongestSilence(), time.Duration(0)
		walk := func(interval time.Duration, echo int, background bool) {
			for _, info := range []PathInfo{{}, frozen, dead} {
				f := PathFacts{LastIn: at(0), Interval: interval, Background: background, Hold: p.Hold, Info: info}
				_, _, closed, _ := fade(PathState{Echo: echo}, f, 3*time.Hour)
				if closed == 0 || closed > bound+3*sec { // each of three steps waits for the sweep: within the margin
					t.Fatalf("%s: interval %v, echo %d s: silent for %v, the bound is %v", name, interval, echo, closed, bound)
				}
				longest = max(longest, closed)
			}
		}
		for d := p.Foreground.Min; d <= p.Foreground.Interval; d += 10 * sec {
			walk(d, 0, false)
		}
		walk(p.Desktop, 0, false)
		walk(p.Desktop, 0, true)
		limit := int(p.EchoLimit(Request{Background: true}) / sec)
		for d := p.Background.Min; d <= p.Background.Max; d += 30 * sec {
			for echo := 0; echo <= limit; echo += 30 {
				walk(d, echo, true)
			}
		}
		if longest < bound {
			t.Errorf("%s: the longest silence was %v, but %v is asked for", name, longest, bound)
		}
	}
}

func TestCouplingRefuses(t *testing.T) {
	p := DefaultPolicy()
	for _, tt := range []struct {
		name             string
		ttl, userTimeout time.Duration
		want             [][]string // for each fault, what it names
	}{
		{"just enough", 2880 * sec, 1920 * sec, nil},
		{"the route ends too early", 2877 * sec, 1920 * sec, [][]string{{"31m58s", "31m50s", "10s", "48m0s"}}},
		{"with nothing to spare", 2865 * sec, 1920 * sec, [][]string{{"31m50s", "48m0s"}}},
		{"the kernel gives up too early", 2880 * sec, 1919 * sec, [][]string{{"TCP_USER_TIMEOUT", "31m59s", "31m50s", "10s"}}},
		{"both", 60 * sec, 0, [][]string{{"40s", "31m50s"}, {"0s", "31m50s"}}},
	} {
		faults := p.ValidateCoupling(tt.ttl, tt.userTimeout)
		if len(faults) != len(tt.want) {
			t.Errorf("%s: %v, want %d faults", tt.name, faults, len(tt.want))
			continue
		}
		for i, words := range tt.want {
			for _, word := range words {
				if !strings.Contains(faults[i].Error(), word) {
					t.Errorf("%s: %q does not name %s", tt.name, faults[i], word)
				}
			}
		}
	}
}
