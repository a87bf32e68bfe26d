package loadtest

import "testing"

func TestWhenADeviceAcknowledges(t *testing.T) {
	const every, delay = 16, 180 * millisecond
	type step struct {
		at   int64 // ms
		came uint64
		want uint64 // acknowledged after it, 0: nothing
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"nothing to acknowledge", []step{{1000, 0, 0}}},
		{"one waits for the delay", []step{{0, 1, 0}, {179, 0, 0}, {180, 0, 1}, {1000, 0, 0}}},
		{"the delay counts from the first", []step{{0, 1, 0}, {100, 2, 0}, {180, 3, 3}}},
		{"and again from the next", []step{{0, 1, 0}, {180, 0, 1}, {1000, 2, 0}, {1179, 0, 0}, {1180, 0, 2}}},
		{"sixteen go at once", []step{{0, 15, 0}, {1, 16, 16}, {2, 31, 0}, {3, 32, 32}}},
		{"an old position changes nothing", []step{{0, 16, 16}, {1, 5, 0}, {500, 16, 0}}},
	} {
		var a acks
		for _, s := range tt.steps {
			now := s.at * millisecond
			if s.came != 0 {
				a.came(now, s.came)
			}
			if got, _ := a.take(now, every, delay); got != s.want {
				t.Errorf("%s, at %d ms: acknowledged %d, want %d", tt.name, s.at, got, s.want)
			}
		}
	}
}
