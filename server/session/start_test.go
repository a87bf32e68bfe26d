package session

import (
	"math"
	"testing"
)

func TestStartAt(t *testing.T) {
	const most = math.MaxUint64
	for _, tt := range []struct {
		name          string
		p             Progress
		head, trimmed uint64
		want          Position
	}{
		{"first login", Progress{}, 20, 10, Position{20, true}},
		{"first login, empty inbox", Progress{}, 0, 0, Position{0, true}},
		{"an epoch without a position", Progress{SameEpoch: true}, 20, 10, Position{20, true}},
		{"a position left over beside HasPos false", Progress{Pos: 15, SameEpoch: true}, 20, 10, Position{20, true}},
		{"position 0 is a position", Progress{HasPos: true, SameEpoch: true}, 20, 0, Position{0, false}},
		{"position 0 of an empty inbox", Progress{HasPos: true, SameEpoch: true}, 0, 0, Position{0, false}},
		{"position 0, but the first is trimmed", Progress{HasPos: true, SameEpoch: true}, 20, 1, Position{20, true}},
		{"another epoch", Progress{HasPos: true, Pos: 15}, 20, 10, Position{20, true}},
		{"another epoch at the head", Progress{HasPos: true, Pos: 20}, 20, 10, Position{20, true}},
		{"between trimmed and head", Progress{HasPos: true, Pos: 15, SameEpoch: true}, 20, 10, Position{15, false}},
		{"at the head", Progress{HasPos: true, Pos: 20, SameEpoch: true}, 20, 10, Position{20, false}},
		{"above the head", Progress{HasPos: true, Pos: 21, SameEpoch: true}, 20, 10, Position{20, true}},
		{"far above the head", Progress{HasPos: true, Pos: most, SameEpoch: true}, 20, 10, Position{20, true}},
		{"the next is the first still stored", Progress{HasPos: true, Pos: 10, SameEpoch: true}, 20, 10, Position{10, false}},
		{"the next is trimmed", Progress{HasPos: true, Pos: 9, SameEpoch: true}, 20, 10, Position{20, true}},
		{"all is trimmed, at the head", Progress{HasPos: true, Pos: 20, SameEpoch: true}, 20, 20, Position{20, false}},
		{"all is trimmed, below", Progress{HasPos: true, Pos: 19, SameEpoch: true}, 20, 20, Position{20, true}},
		{"as far behind as it may be", Progress{HasPos: true, Pos: 12, SameEpoch: true, MaxBacklog: 8}, 20, 10, Position{12, false}},
		{"one more behind than it may be", Progress{HasPos: true, Pos: 11, SameEpoch: true, MaxBacklog: 8}, 20, 10, Position{20, true}},
		{"backlog 1 at the head", Progress{HasPos: true, Pos: 20, SameEpoch: true, MaxBacklog: 1}, 20, 10, Position{20, false}},
		{"backlog 1, one behind", Progress{HasPos: true, Pos: 19, SameEpoch: true, MaxBacklog: 1}, 20, 10, Position{19, false}},
		{"backlog 1, two behind", Progress{HasPos: true, Pos: 18, SameEpoch: true, MaxBacklog: 1}, 20, 10, Position{20, true}},
		{"no limit of backlog", Progress{HasPos: true, SameEpoch: true}, most, 0, Position{0, false}},
		{"the largest backlog", Progress{HasPos: true, SameEpoch: true, MaxBacklog: most}, most, 0, Position{0, false}},
		{"a backlog does not mend a position above the head", Progress{HasPos: true, Pos: 21, SameEpoch: true, MaxBacklog: most}, 20, 10, Position{20, true}},
		{"a backlog does not mend a trimmed position", Progress{HasPos: true, Pos: 9, SameEpoch: true, MaxBacklog: most}, 20, 10, Position{20, true}},
	} {
		if got := StartAt(tt.p, tt.head, tt.trimmed); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Every combination of small numbers: there are five reasons to reset [P-6.7], and without one the client's word is taken
// [P-6.6].
func TestStartAtInEveryCombination(t *testing.T) {
	const n = 5
	for bits := range 4 {
		for pos := range uint64(n + 2) {
			for head := range uint64(n) {
				for trimmed := range head + 1 {
					for backlog := range uint64(n + 1) {
						p := Progress{HasPos: bits&1 != 0, SameEpoch: bits&2 != 0, Pos: pos, MaxBacklog: backlog}
						want := Position{Pos: pos}
						for _, reason := range []bool{
							!p.HasPos,
							!p.SameEpoch,
							pos > head,
							pos < trimmed,
							backlog != 0 && pos+backlog < head,
						} {
							if reason {
								want = Position{Pos: head, Reset: true}
							}
						}
						if got := StartAt(p, head, trimmed); got != want {
							t.Errorf("%+v, head %d, trimmed %d: got %+v, want %+v", p, head, trimmed, got, want)
						}
					}
				}
			}
		}
	}
}
