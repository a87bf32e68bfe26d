package loadtest

import (
	"testing"

	"lifeline/protocol"
)

// came is one entry as a device sees it: a message, if it has a number, else a void up to a position.
type came struct{ pos, seq, number, to uint64 }

// in is a message whose Seq and number follow its position, as in a run without faults.
func in(pos uint64) came { return came{pos: pos, seq: pos, number: pos} }

func TestWhatAStreamFinds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		came   []came
		stored uint64 // the numbers up to it are
		want   Faults
	}{
		{"nothing", nil, 0, Faults{}},
		{"all in order", []came{in(1), in(2), in(3)}, 3, Faults{}},
		{"pushed before its Sendack", []came{in(1), in(2)}, 1, Faults{}},
		{"a lost message in the middle", []came{in(1), in(3)}, 3, Faults{Lost: 1, Holes: 1}},
		{"lost messages at the end", []came{in(1)}, 3, Faults{Lost: 2}},
		{"all lost", nil, 3, Faults{Lost: 3}},
		{"a missing message that was never stored", []came{in(1), in(3)}, 1, Faults{Holes: 1}},
		{"two swapped on the line", []came{in(1), in(3), in(2), in(4)}, 4, Faults{OutOfOrder: 1, Holes: 1}},
		{"one far too late", []came{in(1), in(3), in(4), in(5), in(2)}, 5, Faults{OutOfOrder: 1, Holes: 1}},
		{"swapped in the log", []came{{1, 1, 1, 0}, {2, 2, 3, 0}, {3, 3, 2, 0}}, 3, Faults{OutOfOrder: 1}},
		{"Seq does not rise", []came{{1, 2, 1, 0}, {2, 1, 2, 0}}, 2, Faults{OutOfOrder: 1}},
		{"a repeated message", []came{in(1), in(2), in(2), in(3)}, 3, Faults{Duplicates: 1}},
		{"a repeated row", []came{in(1), in(2), in(1), in(2), in(3)}, 3, Faults{Duplicates: 2}},
		{"stored twice", []came{in(1), {2, 2, 1, 0}, {3, 3, 2, 0}}, 2, Faults{StoredTwice: 1}},
		{"a void", []came{in(1), {pos: 2, to: 5}, {6, 2, 2, 0}}, 2, Faults{}},
		{"a void too far", []came{{pos: 2, to: 5}}, 0, Faults{Holes: 1}},
		{"a void again", []came{{pos: 1, to: 5}, {pos: 2, to: 4}}, 0, Faults{Duplicates: 1}},
		{"a void backwards", []came{{pos: 5, to: 1}}, 0, Faults{Damaged: 1}},
		{"number zero", []came{{1, 1, 0, 0}}, 0, Faults{Damaged: 1}},
		{"a number that cannot be", []came{{1, 1, mostMissing + 1, 0}}, 0, Faults{Damaged: 1}},
	} {
		var s stream
		for _, c := range tt.came {
			e := &protocol.Entry{Pos: c.pos, Kind: protocol.EntryMessage}
			if c.to != 0 {
				e.Kind, e.Void.To = protocol.EntryVoid, c.to
			}
			if fresh := s.entry(e); e.Kind == protocol.EntryMessage {
				s.message(fresh, c.seq, c.number)
			}
		}
		got := s.faults
		got.Lost = s.behind(storedUpTo(tt.stored))
		if got != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, &got, &tt.want)
		}
		if harmless := tt.want == (Faults{Duplicates: tt.want.Duplicates}); got.Wrong() == harmless {
			t.Errorf("%s: wrong is %v", tt.name, got.Wrong())
		}
	}
}

// storedUpTo is an outbox all of whose messages are stored.
func storedUpTo(n uint64) *outbox {
	o := newOutbox()
	for range n {
		_, id := o.give(0)
		o.answer(0, 0, id, &protocol.Status{})
	}
	return &o
}

// A message whose answer came before those of earlier ones counts as stored, too.
func TestBehindSeesAnswersOutOfOrder(t *testing.T) {
	o := newOutbox()
	for range 4 {
		o.give(0)
	}
	o.answer(0, 0, 1, &protocol.Status{})
	o.answer(0, 0, 3, &protocol.Status{})
	var s stream
	if got := s.behind(&o); got != 2 {
		t.Errorf("nothing came: %d behind, want 2", got)
	}
	s.message(true, 1, 1)
	s.message(true, 4, 4)
	if got := s.behind(&o); got != 1 {
		t.Errorf("1 and 4 came: %d behind, want 1", got)
	}
}
