package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"lifeline/store"
)

var crashTests = []test{
	{name: "Crash", needs: canCrash, run: testCrash},
	{name: "CrashAfterTrim", needs: canCrashAndTrim, run: testCrashAfterTrim},
}

// S24: crashes under load.
func testCrash(r *rig) {
	for round := range r.rounds(10) {
		crash(r, rand.New(rand.NewPCG(4, uint64(round))))
	}
}

// crash lets callers work, cuts the power and looks at what is left.
func crash(r *rig, random *rand.Rand) {
	users := names("user", 8)
	b := newRig(r, r.Harness, r.clock, 0)
	b.must(members("tram", 1, users...))
	b.must(members("stadium", 1, slices.Concat(users, names("crowd", 300))...))

	stop, answered := make(chan struct{}), make(chan struct{})
	var callers sync.WaitGroup
	for i, user := range users {
		callers.Go(func() { work(b, rand.New(rand.NewPCG(5, uint64(i))), user, users, stop, answered) })
	}
	for range 20 + random.IntN(200) {
		await(r, answered)
	}
	seen := b.Trace() // what was answered here is promised
	after := &rig{TB: r, Harness: r.Harness, Recorder: NewRecorder(), clock: r.clock}
	after.store = r.Crash(r, b.store, Options{Sink: after, Now: r.clock.Now})
	b.closed = true
	defer after.close()
	close(stop)
	callers.Wait()

	after.kept(seen)
	after.resend(seen, b.Trace())
	for _, user := range users {
		if s := after.start(user, "phone"); s.Cursor > s.Head {
			r.Errorf("the cursor of %s is ahead: %+v", user, s)
		}
	}
}

// S21, S24: a store in which everything was trimmed does not begin again after a power cut.
func testCrashAfterTrim(r *rig) {
	users := []string{"ann", "bob"}
	conversations := []string{store.Direct("ann", "bob"), "tram"}
	r.must(members("tram", 1, users...))
	for seq := uint64(1); ; seq++ {
		for _, send := range []*store.Send{r.direct("ann", "bob", "x"), r.group("bob", "tram", "x")} {
			if a := r.must(send); a.Seq != seq {
				r.Fatalf("%s goes on with Seq %d, want %d", send.Conversation(), a.Seq, seq)
			}
		}
		if seq > uint64(r.rounds(6)) {
			break
		}
		head := 1 + 2*seq
		for _, user := range users {
			r.trim(user, head)
		}
		for _, conversation := range conversations {
			r.trimConversation(conversation, seq)
		}
		r.cut()
		for _, user := range users {
			if s := r.start(user, "phone"); s.Head != head || s.Trimmed != head {
				r.Fatalf("after everything of %s was trimmed and the power was cut: %+v, want %d", user, s, head)
			}
		}
	}
	for _, user := range users {
		if s := r.start(user, "phone"); s.Head != s.Trimmed+2 {
			r.Fatalf("after two more messages %s has %+v", user, s)
		}
	}
}

// work sends, now and then to the large group, and acknowledges, until stopped.
func work(b *rig, random *rand.Rand, user string, users []string, stop <-chan struct{}, answered chan<- struct{}) {
	for n := 0; ; n++ {
		send := b.group(user, "tram", fmt.Sprint(user, n))
		switch random.IntN(8) {
		case 0:
			send = b.group(user, "stadium", fmt.Sprint(user, n))
		case 1, 2, 3:
			send = b.direct(user, users[random.IntN(len(users))], fmt.Sprint(user, n))
		}
		select {
		case <-b.submit(send):
		case <-stop:
			return
		}
		if s, err := b.store.Start(user, "phone"); err == nil {
			b.ack(user, "phone", s.Head)
		}
		select {
		case answered <- struct{}{}:
		case <-stop:
			return
		}
	}
}

// kept waits until the inboxes are whole and compares them with what was seen before the crash.
func (r *rig) kept(seen Trace) {
	r.Helper()
	var inboxes map[string][]store.Entry
	r.eventually(func() (err error) {
		inboxes, err = r.whole(seen, seen.heads())
		return err
	})
	for _, e := range seen.events() {
		for _, to := range e.To {
			want := store.Entry{Pos: to.Pos, Kind: e.Kind, Message: e.Message, Membership: e.Membership}
			if box := inboxes[to.User]; to.Pos > uint64(len(box)) || !sameEntry(box[to.Pos-1], want) {
				r.Errorf("%s, which %s got at Pos %d, is lost", describe(e), to.User, to.Pos)
			}
		}
	}
}

// whole reads every inbox of a trace and follows it: no hole, nothing twice, nothing owed up to the promised heads and
// up to what any inbox holds.
func (r *rig) whole(seen Trace, promised map[string]uint64) (map[string][]store.Entry, error) {
	heads := maps.Clone(promised)
	inboxes := map[string][]store.Entry{}
	views := map[seat]*view{}
	for user := range NewReplay(seen).inboxes {
		for _, e := range r.entries(user) {
			if e.Pos != uint64(len(inboxes[user]))+1 {
				return nil, fmt.Errorf("inbox of %s: Pos %d after %d", user, e.Pos, len(inboxes[user]))
			}
			inboxes[user] = append(inboxes[user], e)
			if err := follow(views, user, &store.Event{Kind: e.Kind, Message: e.Message, Membership: e.Membership}); err != nil {
				return nil, err
			}
			if e.Message != nil {
				heads[e.Message.Conversation] = max(heads[e.Message.Conversation], e.Message.Seq)
			}
		}
	}
	return inboxes, owed(views, heads)
}

// resend repeats every Send of before the crash: what was answered gets that answer, and all is there once.
func (r *rig) resend(seen, submitted Trace) {
	r.Helper()
	promised := map[uint64]store.Answer{}
	for _, step := range seen {
		if step.Answer != nil {
			promised[step.Answer.Origin.Tag] = *step.Answer
		}
	}
	sends := map[key]bool{}
	heads := map[string]uint64{}
	for tag, s := range submitted.submissions() {
		send, ok := s.Command.(*store.Send)
		if !ok {
			continue
		}
		a := r.must(again(send))
		if p, ok := promised[tag]; ok && (a.Seq != p.Seq || a.MessageID != p.MessageID || a.Time != p.Time) {
			r.Errorf("a retry after the crash was answered %+v, before it %+v", a, p)
		}
		sends[keyOfSend(send)] = true
		heads[send.Conversation()] = max(heads[send.Conversation()], a.Seq)
	}
	var inboxes map[string][]store.Entry
	r.eventually(func() (err error) {
		inboxes, err = r.whole(seen, heads)
		return err
	})
	places := map[key]place{}
	for _, entries := range inboxes {
		for _, e := range entries {
			if e.Message == nil {
				continue
			}
			if other, ok := places[keyOf(e.Message)]; ok && other != at(e.Message) {
				r.Errorf("%v and %v are the same message", other, at(e.Message))
			}
			places[keyOf(e.Message)] = at(e.Message)
		}
	}
	if len(places) != len(sends) {
		r.Errorf("%d messages, want %d", len(places), len(sends))
	}
}
