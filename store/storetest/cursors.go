package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"lifeline/store"
)

var cursorTests = []test{
	{name: "CursorBeginsWithAck", run: testCursorBegins},
	{name: "CursorsMoveForward", run: testCursorsMoveForward},
	{name: "Leaving", run: testLeaving},
	{name: "Forget", run: testForget},
	{name: "Devices", run: testDevices},
}

// CheckCursor holds S18: of what Start showed of one device, in order, nothing goes back, and nothing was not acknowledged.
func CheckCursor(acks []uint64, seen []store.Start) error {
	acked := map[uint64]bool{}
	for _, pos := range acks {
		acked[pos] = true
	}
	last := store.Start{}
	for i, s := range seen {
		switch {
		case last.HasCursor && !s.HasCursor:
			return fmt.Errorf("cursor: observation %d: the cursor is gone, it was %d", i, last.Cursor)
		case s.Cursor < last.Cursor:
			return fmt.Errorf("cursor: observation %d: %d after %d", i, s.Cursor, last.Cursor)
		case s.HasCursor && !acked[s.Cursor]:
			return fmt.Errorf("cursor: observation %d: %d was not acknowledged", i, s.Cursor)
		case !s.HasCursor && s.Cursor != 0:
			return fmt.Errorf("cursor: observation %d: no cursor, at %d", i, s.Cursor)
		}
		last = s
	}
	return nil
}

// S18: no cursor before the first Ack, also none for the other devices; 0 is a position.
func testCursorBegins(r *rig) {
	if s := r.start("bob", "phone"); s.HasCursor {
		r.Fatalf("a cursor without an ack: %+v", s)
	}
	r.ack("bob", "phone", 0)
	r.wantCursor("bob", "phone", 0)
	r.must(r.direct("ann", "bob", "hello"))
	if s := r.start("bob", "desktop"); s.HasCursor || s.Head != 1 {
		r.Fatalf("a cursor without an ack: %+v", s)
	}
	r.ack("bob", "desktop", 1)
	r.wantCursor("bob", "desktop", 1)
	r.wantCursor("bob", "phone", 0)
	if s := r.start("ann", "phone"); s.HasCursor {
		r.Fatalf("another user's cursor: %+v", s)
	}
}

// S18: acks of many devices, in any order, from many goroutines.
func testCursorsMoveForward(r *rig) {
	const devices, acks = 16, 200
	for range acks {
		r.must(r.direct("ann", "bob", "x"))
	}
	failed := make(chan error, devices)
	var all sync.WaitGroup
	for d := range devices {
		all.Go(func() {
			device := fmt.Sprintf("device%d", d)
			var acked []uint64
			var seen []store.Start
			for _, n := range rand.New(rand.NewPCG(2, uint64(d))).Perm(acks) {
				acked = append(acked, uint64(n)+1)
				r.ack("bob", device, uint64(n)+1)
				s, err := r.store.Start("bob", device)
				if err != nil {
					failed <- err
					return
				}
				seen = append(seen, s)
			}
			failed <- CheckCursor(acked, seen)
		})
	}
	all.Wait()
	for range devices {
		if err := <-failed; err != nil {
			r.Error(err)
		}
	}
	for d := range devices {
		r.wantCursor("bob", fmt.Sprintf("device%d", d), acks)
	}
	r.ack("bob", "device0", 1)
	r.must(r.direct("ann", "bob", "x"))
	r.wantCursor("bob", "device0", acks)
}

// S20: the end of a session makes no cursor and moves none.
func testLeaving(r *rig) {
	r.must(r.direct("ann", "bob", "x"))
	r.store.Ack(store.Ack{User: "bob", Device: "phone", Leaving: true, Seen: 1000})
	r.ack("bob", "desktop", 1)
	r.wantCursor("bob", "desktop", 1)
	r.store.Ack(store.Ack{User: "bob", Device: "desktop", Leaving: true, Seen: 2000})
	r.store.Ack(store.Ack{User: "bob", Device: "tablet", Pos: 1, HasPos: true, Leaving: true, Seen: 3000})
	r.wantCursor("bob", "tablet", 1)
	r.wantCursor("bob", "desktop", 1)
	if s := r.start("bob", "phone"); s.HasCursor {
		r.Errorf("leaving made a cursor: %+v", s)
	}
}

// S19: a forgotten cursor stays away until the next ack, which may be lower.
func testForget(r *rig) {
	for range 5 {
		r.must(r.direct("ann", "bob", "x"))
	}
	forget := func(user, device string) { r.Helper(); r.must(&store.Forget{User: user, Device: device}) }
	forget("nobody", "phone")
	for round := range 20 {
		r.ack("bob", "phone", 5)
		r.ack("bob", "desktop", 4)
		if round%2 == 0 {
			r.wantCursor("bob", "phone", 5)
		}
		forget("bob", "phone")
		if s := r.start("bob", "phone"); s.HasCursor {
			r.Fatalf("round %d: forgotten, but %+v", round, s)
		}
	}
	r.wantCursor("bob", "desktop", 4)
	r.ack("bob", "desktop", 5) // when this one shows, an older ack would have been flushed
	r.wantCursor("bob", "desktop", 5)
	if s := r.start("bob", "phone"); s.HasCursor || s.Cursor != 0 {
		r.Fatalf("a forgotten cursor came back: %+v", s)
	}
	r.ack("bob", "phone", 2)
	r.wantCursor("bob", "phone", 2)
}

// S20: the list of devices shows cursors, and when the last session of each ended, once they are stored.
func testDevices(r *rig) {
	r.must(r.direct("ann", "bob", "x"))
	r.store.Ack(store.Ack{User: "bob", Device: "phone", Platform: 2, Pos: 1, HasPos: true})
	r.store.Ack(store.Ack{User: "bob", Device: "desktop", Platform: 3, Pos: 0, HasPos: true, Leaving: true, Seen: 2000})
	r.store.Ack(store.Ack{User: "bobby", Device: "phone", Pos: 0, HasPos: true})
	want := []store.Device{{Device: "desktop", Platform: 3, Seen: 2000}, {Device: "phone", Platform: 2, Cursor: 1}}
	var got []store.Device
	for deadline := time.Now().Add(patience); !slices.Equal(got, want); <-time.After(time.Millisecond) {
		var err error
		if got, err = r.store.Devices("bob"); err != nil || time.Now().After(deadline) {
			r.Fatalf("the devices are %+v, %v, want %+v", got, err, want)
		}
	}
	if got, err := r.store.Devices("nobody"); err != nil || len(got) != 0 {
		r.Errorf("the devices of nobody are %+v, %v", got, err)
	}
}
