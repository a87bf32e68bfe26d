package loadtest

import "testing"

func TestWhenADevicePings(t *testing.T) {
	const interval, late = 60 * second, second
	for _, tt := range []struct {
		u           float64
		first, next int64 // silence before a ping
	}{
		{0, 0, 54 * second},
		{0.5, 30 * second, 54*second + 5*second/2},
		{0.999999, 60*second - 60_000, 59*second - 5000},
	} {
		var h heartbeat
		h.start(100, interval, tt.u)
		if !h.due(100+tt.first) || tt.first > 0 && h.due(100+tt.first-1) {
			t.Errorf("u %v: the first ping is not after %d", tt.u, tt.first)
		}
		h.ping(1, interval, late, tt.u)
		if h.due(1 << 60) {
			t.Errorf("u %v: a second ping before the pong", tt.u)
		}
		h.pong()
		if !h.due(1+tt.next) || h.due(tt.next) {
			t.Errorf("u %v: the next ping is not after %d", tt.u, tt.next)
		}
	}
}

// However small the interval, a ping that the sweep sees late must not be later than it.
func TestPingsAreNeverLate(t *testing.T) {
	for _, interval := range []int64{second, 30 * second, 900 * second} {
		var h heartbeat
		h.ping(0, interval, second, 1)
		if h.lead > max(interval*9/10, interval-second) {
			t.Errorf("interval %d: lead %d", interval, h.lead)
		}
	}
}

func TestADeadLine(t *testing.T) {
	var h heartbeat
	h.start(0, 60*second, 0)
	if h.dead(1 << 60) {
		t.Error("dead without a ping")
	}
	h.ping(5, 60*second, second, 0)
	if h.dead(5+pongPatience) || !h.dead(6+pongPatience) {
		t.Error("not dead after the patience, or before")
	}
	h.pong()
	if h.dead(1 << 60) {
		t.Error("dead after the pong")
	}
}
