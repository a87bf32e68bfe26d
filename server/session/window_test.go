package session

import (
	"math"
	"testing"
)

// [P-6.5], [P-6.12]
func TestNext(t *testing.T) {
	const window = 64
	for _, tt := range []struct {
		name              string
		acked, sent, head uint64
		reading           bool
		item              uint64
		outbound          int
		step              Step
		room              int
	}{
		{"at the head", 5, 5, 5, false, 0, 0, Rest, 0},
		{"at the head, with an item it has", 5, 5, 5, false, 5, 0, Rest, 0},
		{"an empty inbox", 0, 0, 0, false, 0, 0, Rest, 0},
		{"the first item", 0, 0, 1, false, 1, 0, Write, 64},
		{"the next item", 5, 5, 6, false, 6, 0, Write, 64},
		{"the next item behind others in flight", 5, 8, 9, false, 9, 0, Write, 61},
		{"behind, nothing in hand", 5, 5, 6, false, 0, 0, Read, 64},
		{"an item above the next", 5, 5, 9, false, 9, 0, Read, 64},
		{"an item it has, but behind", 5, 7, 9, false, 7, 0, Read, 62},
		{"an item far below, but behind", 5, 7, 9, false, 1, 0, Read, 62},
		{"the next item, but a read is outstanding", 5, 5, 6, true, 6, 0, Rest, 0},
		{"behind, but a read is outstanding", 5, 5, 9, true, 0, 0, Rest, 0},
		{"the window's last place", 5, 68, 69, false, 69, 0, Write, 1},
		{"the window's last place, to be read", 5, 68, 80, false, 0, 0, Read, 1},
		{"the window is full", 5, 69, 70, false, 70, 0, Rest, 0},
		{"the window is full and more waits", 5, 69, 90, false, 0, 0, Rest, 0},
		{"the window was larger once", 5, 80, 90, false, 81, 0, Rest, 0},
		{"outbound at the limit", 5, 5, 6, false, 6, OutboundHigh, Write, 64},
		{"outbound at the limit, to be read", 5, 5, 9, false, 0, OutboundHigh, Read, 64},
		{"outbound above the limit", 5, 5, 6, false, 6, OutboundHigh + 1, Rest, 0},
		{"outbound above the limit, to be read", 5, 5, 9, false, 0, OutboundHigh + 1, Rest, 0},
		{"the highest positions", math.MaxUint64 - 3, math.MaxUint64 - 1, math.MaxUint64, false, math.MaxUint64, 0, Write, 62},
	} {
		s := Session{Acked: tt.acked, Sent: tt.sent, Head: tt.head}
		if tt.reading {
			s.Set(Reading)
		}
		before := s
		step, room := s.Next(tt.item, tt.outbound, window)
		if step != tt.step || room != tt.room {
			t.Errorf("%s: step %d with room %d, want %d with %d", tt.name, step, room, tt.step, tt.room)
		}
		if s != before {
			t.Errorf("%s: deciding has changed the session", tt.name)
		}
	}
}

// Every combination: whatever forbids a step forbids it with everything else, and nothing else does.
func TestNextInEveryCombination(t *testing.T) {
	const acked, window = 100, 4
	for _, reading := range []bool{false, true} {
		for inFlight := range uint64(window + 2) {
			for waiting := range uint64(4) {
				for _, outbound := range []int{0, OutboundHigh, OutboundHigh + 1, OutboundMax} {
					for item := range uint64(acked + window + 8) {
						s := Session{Acked: acked, Sent: acked + inFlight, Head: acked + inFlight + waiting}
						if reading {
							s.Set(Reading)
						}
						want, wantRoom := Read, window-int(inFlight)
						if item == acked+inFlight+1 {
							want = Write
						}
						if reading || inFlight >= window || waiting == 0 || outbound > OutboundHigh {
							want, wantRoom = Rest, 0
						}
						if step, room := s.Next(item, outbound, window); step != want || room != wantRoom {
							t.Errorf("reading %v, %d in flight, %d waiting, %d outbound, item %d: step %d with room %d, want %d with %d",
								reading, inFlight, waiting, outbound, item, step, room, want, wantRoom)
						}
					}
				}
			}
		}
	}
}
