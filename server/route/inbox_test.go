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

// What finds no room is counted, whatever it is.
func TestLossesAreCounted(t *testing.T) {
	r, _ := newTestRegistrar(t)
	r.inbox.limit = 0
	c, key := r.Counters(), r.opts.Self.Key("u", "d", 1)
	r.Registered(Session{})
	r.Refreshed(Session{})
	r.Removed("u", "d", 1)
	r.notice(Notice{Asked: []Key{key}})
	if got := [...]uint64{c.LostRegistered.Load(), c.LostRefreshed.Load(), c.LostRemoved.Load(), c.LostAsked.Load()}; got != [...]uint64{1, 1, 1, 1} {
		t.Errorf("counted %d", got)
	}
	for range maxQuestions { // the host does not answer
		r.examine([]Key{key})
	}
	r.examine([]Key{{Node: "another"}})
	if n := c.LostAsked.Load(); n != 1 {
		t.Errorf("counted %d questions, of which one found no room", n)
	}
	r.examine([]Key{key})
	r.questions, r.orphans = 0, make([]Key, MaxBatch+1)
	if r.examine([]Key{key}); c.LostAsked.Load() != 3 {
		t.Errorf("counted %d questions, of which three found no room", c.LostAsked.Load())
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
