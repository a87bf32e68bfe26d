package route

import "testing"

func TestInboxIsBounded(t *testing.T) {
	in := newInbox(2)
	for _, tt := range []struct {
		kind eventKind
		fits bool
	}{
		{registered, true}, {removed, true},
		{registered, false}, {refreshed, false}, {asked, false},
		{walked, true}, {held, true}, // one answer of the host at a time
	} {
		if got := in.post(event{kind: tt.kind}); got != tt.fits {
			t.Errorf("kind %d fits: %v", tt.kind, got)
		}
	}
	for kind, want := range map[eventKind]bool{registered: true, refreshed: true, asked: true, removed: false, walked: false} {
		if got := in.lost[kind].Load(); got != want {
			t.Errorf("kind %d was lost: %v", kind, got)
		}
	}
	if n := in.depth(); n != 4 {
		t.Errorf("%d events wait", n)
	}
	if got := in.take(); len(got) != 4 || got[0].kind != registered || got[3].kind != held || in.depth() != 0 {
		t.Errorf("took %d, %d are left", len(got), in.depth())
	}
	if !in.post(event{kind: registered}) {
		t.Error("an emptied queue takes nothing")
	}
	if got := in.take(); len(got) != 1 {
		t.Errorf("took %d", len(got))
	}
}

// A loop posts: it must not pay for it.
func TestPostDoesNotAllocate(t *testing.T) {
	in := newInbox(1 << 12)
	for range 2 { // both halves have grown
		for range 1000 {
			in.post(event{})
		}
		in.take()
	}
	if n := testing.AllocsPerRun(500, func() { in.post(event{kind: registered}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
