package storetest

import (
	"fmt"
	"time"

	"lifeline/store"
)

var restartTests = []test{
	{name: "ReopenKeepsEverything", needs: canReopen, run: testReopen},
	{name: "CloseFlushesCursors", needs: canReopen, run: testCloseFlushesCursors},
	{name: "ReopenedNumbersGoOn", needs: canReopen, run: testReopenedNumbers},
	{name: "ReopenAfterTrim", needs: canReopenAndTrim, run: testReopenAfterTrim},
	{name: "ReopenWithEntriesOwed", needs: canReopen, run: testReopenOwed},
}

// S23: epoch, client ids with their age, versions, spans.
func testReopen(r *rig) {
	epoch := r.store.Epoch()
	r.must(members("tram", 3, "ann", "bob"))
	send := r.group("ann", "tram", "hello")
	first := r.must(send)
	r.must(members("tram", 4, "-bob"))
	r.must(r.group("ann", "tram", "bob is gone"))

	r.clock.advance(6 * day)
	r.reopen()
	if r.store.Epoch() != epoch {
		r.Fatal("the epoch has changed")
	}
	r.retried(send, first)
	other := again(send)
	other.Payload = []byte("other")
	r.refused(other, store.Conflict)
	r.refused(members("tram", 4, "bob"), store.StaleVersion)
	r.refused(r.group("bob", "tram", "not me"), store.NotMember)
	r.refused(r.group("ann", "bus", "hello"), store.NoSuchGroup)
	r.sees("bob", "tram", 1)

	r.clock.advance(day + time.Second)
	r.reopen()
	if a := r.must(again(send)); a.Seq != 3 {
		r.Fatalf("a client id of seven days ago gave Seq %d", a.Seq)
	}
	r.wantInbox("ann", "tram +1", "tram 1", "tram 2", "tram 3")
	r.wantInbox("bob", "tram +1", "tram 1", "tram -1")
}

// S22, S23: what was acknowledged or forgotten just before Close.
func testCloseFlushesCursors(r *rig) {
	for range 3 {
		r.must(r.direct("ann", "bob", "x"))
	}
	r.ack("bob", "tablet", 3)
	r.wantCursor("bob", "tablet", 3)
	r.ack("bob", "phone", 3)
	r.ack("bob", "phone", 2)
	r.ack("bob", "desktop", 0)
	r.must(&store.Forget{User: "bob", Device: "tablet"})
	r.reopen()
	if s := r.start("bob", "phone"); !s.HasCursor || s.Cursor != 3 || s.Head != 3 {
		r.Errorf("phone: %+v", s)
	}
	if s := r.start("bob", "desktop"); !s.HasCursor || s.Cursor != 0 {
		r.Errorf("desktop: %+v", s)
	}
	if s := r.start("bob", "tablet"); s.HasCursor {
		r.Errorf("tablet was forgotten: %+v", s)
	}
	r.ack("bob", "phone", 1)
	r.ack("bob", "watch", 1)
	r.wantCursor("bob", "watch", 1)
	r.wantCursor("bob", "phone", 3)
}

// S23: Seq and Pos go on, several times over.
func testReopenedNumbers(r *rig) {
	r.must(members("tram", 1, "ann", "bob"))
	for round := range 5 {
		if a := r.must(r.group("ann", "tram", fmt.Sprint(round))); a.Seq != uint64(round)+1 {
			r.Fatalf("round %d: Seq %d", round, a.Seq)
		}
		r.must(r.direct("bob", "ann", fmt.Sprint(round)))
		r.reopen()
	}
	if s := r.start("bob", "phone"); s.Head != 11 {
		r.Fatalf("after 11 entries: %+v", s)
	}
}

// S21: a store in which everything was trimmed does not begin again.
func testReopenAfterTrim(r *rig) {
	conversation := store.Direct("ann", "bob")
	send := r.direct("ann", "bob", "x")
	first := r.must(send)
	for round := range uint64(3) {
		r.trim("ann", round+1)
		r.trim("bob", round+1)
		r.trimConversation(conversation, round+1)
		r.reopen()
		if s := r.start("bob", "phone"); s.Head != round+1 || s.Trimmed != round+1 {
			r.Fatalf("round %d: %+v", round, s)
		}
		r.retried(send, first)
		if a := r.must(r.direct("ann", "bob", "x")); a.Seq != round+2 {
			r.Fatalf("round %d: Seq %d", round, a.Seq)
		}
	}
	r.wantInbox("bob", "ann+bob 4")
}

// S10, S23: what a large group owes at Close is paid after it, once.
func testReopenOwed(r *rig) {
	crowd := names("user", store.MaxMembers)
	r.must(members("stadium", 1, crowd...))
	r.reopen()
	r.must(r.group(crowd[0], "stadium", "one"))
	r.reopen()
	r.must(members("stadium", 2, "-"+crowd[1], "-"+crowd[1999]))
	r.must(r.group(crowd[0], "stadium", "two"))
	r.reopen()
	r.settle()
	r.wantInbox(crowd[1], "stadium +1", "stadium 1", "stadium -1")
	r.wantInbox(crowd[1000], "stadium +1", "stadium 1", "stadium 2")
	r.wantInbox(crowd[1999], "stadium +1", "stadium 1", "stadium -1")
}
