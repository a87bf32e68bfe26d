package route

import (
	"slices"
	"testing"
)

func TestJoin(t *testing.T) {
	for _, tt := range []struct {
		old, later op
		tried      bool
		want       op
	}{
		{opRefresh, opRefresh, false, opRefresh},
		{opRefresh, opRegister, false, opRegister},
		{opRefresh, opRemove, false, opRemove}, // the record is there
		{opRefresh, opRemove, true, opRemove},
		{opRegister, opRefresh, false, opRegister},
		{opRegister, opRegister, true, opRegister},
		{opRegister, opRemove, false, opNone}, // nothing was ever written
		{opRegister, opRemove, true, opRemove},
		{opRemove, opRefresh, false, opRemove},
		{opRemove, opRegister, true, opRemove},
		{opRemove, opRemove, false, opRemove},
	} {
		if got := tt.old.join(tt.later, tt.tried); got != tt.want {
			t.Errorf("%d, then %d, tried %v: got %d, want %d", tt.old, tt.later, tt.tried, got, tt.want)
		}
	}
}

func TestPending(t *testing.T) {
	p := newPending(3)
	add := func(o op, conn uint64) bool {
		return p.add(work{op: o, session: Session{ConnID: conn, Attempt: uint64(o)}})
	}
	taken := func(n int) (got []uint64) {
		for _, w := range p.take(n) {
			got = append(got, w.session.ConnID)
		}
		return got
	}
	if !add(opRegister, 1) || !add(opRegister, 2) || !add(opRemove, 3) || add(opRegister, 4) {
		t.Fatal("it does not hold three")
	}
	mark := p.end()
	if !add(opRemove, 1) || !add(opRefresh, 2) || !p.has(2) || p.has(1) {
		t.Fatal("what waits is not joined")
	}
	if !add(opRegister, 4) {
		t.Fatal("what was cancelled takes room")
	}
	if got := taken(1); !slices.Equal(got, []uint64{2}) || p.begin >= mark {
		t.Errorf("took %d, now at %d of %d", got, p.begin, mark)
	}
	if got := taken(9); !slices.Equal(got, []uint64{3, 4}) || p.begin < mark {
		t.Errorf("took %d, now at %d of %d", got, p.begin, mark)
	}
	add(opRegister, 5)
	add(opRemove, 6)
	p.keepRemovals()
	if got := taken(9); !slices.Equal(got, []uint64{6}) {
		t.Errorf("took %d", got)
	}
}

// A registration whose answer was lost may have been applied: its removal must be sent.
func TestPendingRemembersWhatWasTried(t *testing.T) {
	p := newPending(9)
	p.add(work{op: opRegister, session: Session{ConnID: 1, User: "alice"}})
	batch := p.take(1)
	sessions(batch)
	p.put(batch[0])
	p.add(work{op: opRemove, session: Session{ConnID: 1, User: "alice"}})
	if got := p.take(9); len(got) != 1 || got[0].op != opRemove {
		t.Errorf("got %+v", got)
	}
}
