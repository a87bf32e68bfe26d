package client

import (
	"testing"
	"time"
)

// [P-6.9]
func TestAcks(t *testing.T) {
	type step struct {
		at       int // milliseconds
		came     uint64
		stored   uint64
		last     bool
		want     uint64 // 0: no ack
		released bool
	}
	for _, tt := range []struct {
		name  string
		begin uint64
		steps []step
	}{
		{name: "after 200 ms", steps: []step{
			{at: 0, came: 3}, {at: 10, stored: 3}, {at: 209}, {at: 210, want: 3}, {at: 900},
		}},
		{name: "the delay counts from the oldest", steps: []step{
			{at: 0, came: 9, stored: 1}, {at: 150, stored: 5}, {at: 200, want: 5}, {at: 900},
		}},
		{name: "after 16 entries", steps: []step{
			{at: 0, came: 40, stored: 15}, {at: 1, stored: 16, want: 16}, {at: 2, stored: 40, want: 40},
		}},
		{name: "only what is persisted", steps: []step{
			{at: 0, came: 60}, {at: 5000}, {at: 5001, stored: 2}, {at: 5201, want: 2},
		}},
		{name: "only what this connection was sent", begin: 5, steps: []step{
			{at: 0, stored: 30}, {at: 500}, {at: 501, came: 12}, {at: 701, want: 12},
		}},
		{name: "at the last chance", steps: []step{
			{at: 0, came: 3, stored: 2}, {at: 1, last: true, want: 2}, {at: 2, last: true},
		}},
		{name: "a reset is acknowledged at once when it is stored", begin: 7, steps: []step{
			{at: 0, came: 40}, {at: 500}, {at: 600, last: true}, {at: 700, released: true, want: 7}, {at: 701}, {at: 800, stored: 9}, {at: 1000, want: 9},
		}},
	} {
		a := acks{delay: 200 * time.Millisecond, every: 16, acked: tt.begin, received: tt.begin, persisted: tt.begin}
		for _, s := range tt.steps {
			now := epochTime.Add(time.Duration(s.at) * time.Millisecond)
			if s.released {
				a.release(tt.begin)
			}
			if s.came > 0 {
				a.came(now, s.came)
			}
			if s.stored > 0 {
				a.stored(now, s.stored)
			}
			got, ok := a.take(now, s.last)
			if ok != (s.want > 0) || ok && got != s.want {
				t.Errorf("%s: at %d ms: ack %d %v, want %d", tt.name, s.at, got, ok, s.want)
			}
			if due := a.due(); !due.IsZero() && !due.After(now) {
				t.Errorf("%s: at %d ms: due at %v although nothing is left to do", tt.name, s.at, due)
			}
		}
	}
}

// An empty inbox is acknowledged too: that is what creates the device's cursor [P-6.7], [P-6.8].
func TestZeroIsAcknowledgedAfterAReset(t *testing.T) {
	a := acks{every: 16}
	if _, ok := a.take(epochTime, true); ok {
		t.Fatal("acknowledged before the list was stored")
	}
	a.release(0)
	if pos, ok := a.take(epochTime, false); !ok || pos != 0 {
		t.Errorf("got %d %v, want an ack of 0", pos, ok)
	}
	if _, ok := a.take(epochTime, false); ok {
		t.Error("acknowledged twice")
	}
}
