package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"lifeline/store"
)

var appendTests = []test{
	{name: "ConcurrentAppends", run: testConcurrentAppends},
	{name: "InOrderOfSubmit", run: testInOrderOfSubmit},
	{name: "ReadableWhenCommitted", run: testReadableWhenCommitted},
	{name: "WhoGetsADirectMessage", run: testWhoGetsADirectMessage},
	{name: "EpochAndMessageIDs", run: testEpoch},
}

// S7: 64 callers write to conversations that share users, some with retries. The rules look at the rest.
func testConcurrentAppends(r *rig) {
	const callers, sends, users, groups = 64, 30, 16, 4
	user := func(i int) string { return fmt.Sprintf("user%02d", i%users) }
	for g := range groups {
		r.must(members(fmt.Sprintf("group%d", g), 1, user(g), user(g+1), user(g+2), user(g+7)))
	}
	failed := make(chan error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for n := range sends {
				send := r.direct(user(i), user(random.IntN(users)), fmt.Sprintf("%d of %d", n, i))
				if random.IntN(2) == 0 {
					g := random.IntN(groups)
					send = r.group(user(g+random.IntN(3)), fmt.Sprintf("group%d", g), fmt.Sprintf("%d of %d", n, i))
				}
				retry := r.submit(again(send))
				first, err := r.call(send)
				if err == nil {
					var second store.Answer
					second, err = receive(retry)
					first.Origin, second.Origin = store.Origin{}, store.Origin{}
					if err == nil && (first != second || first.Refusal != store.None) {
						err = fmt.Errorf("a send and its retry were answered %+v and %+v", first, second)
					}
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		r.Error(err)
	}
	messages := map[place]bool{}
	for _, e := range r.Trace().events() {
		if e.Message != nil {
			messages[at(e.Message)] = true
		}
	}
	if len(messages) != callers*sends {
		r.Errorf("%d messages, want %d", len(messages), callers*sends)
	}
}

// S3: what one goroutine submits is carried out in that order, without waiting for answers.
func testInOrderOfSubmit(r *rig) {
	r.must(members("tram", 1, "ann", "bob"))
	var answers []<-chan store.Answer
	for range 300 {
		answers = append(answers, r.submit(r.group("ann", "tram", "one after the other")))
	}
	answers = append(answers, r.submit(members("tram", 2, "-bob")), r.submit(r.group("bob", "tram", "too late")))
	for i, answer := range answers[:300] {
		if a := await(r, answer); a.Seq != uint64(i)+1 {
			r.Fatalf("message %d has Seq %d", i+1, a.Seq)
		}
	}
	await(r, answers[300])
	if a := await(r, answers[301]); a.Refusal != store.NotMember {
		r.Fatalf("a send behind the removal of its sender was answered %v", a.Refusal)
	}
}

// watcher is a sink that lets another goroutine look at each event.
type watcher struct {
	*Recorder
	events chan store.Event
}

func (w *watcher) Committed(batch []store.Event) {
	w.Recorder.Committed(batch)
	for _, e := range batch {
		w.events <- e
	}
}

// S3: what Committed tells can be read.
func testReadableWhenCommitted(r *rig) {
	const messages = 200
	w := &watcher{Recorder: NewRecorder(), events: make(chan store.Event, messages)}
	s := r.Open(r, Options{Sink: w, Now: r.clock.Now})
	defer s.Close()
	for i := range messages {
		w.Submit(s, r.direct("ann", "bob", fmt.Sprint(i)))
	}
	for range messages {
		e := await(r, w.events)
		for _, to := range e.To {
			page, err := s.Inbox(store.InboxRead{User: to.User, From: to.Pos, Max: 1, MaxBytes: 1})
			if err != nil || len(page.Entries) != 1 || page.Entries[0].Message == nil || !sameMessage(page.Entries[0].Message, e.Message) {
				r.Fatalf("%s was committed, but at Pos %d of %s is %+v, %v", describe(&e), to.Pos, to.User, page, err)
			}
		}
	}
}

// S9: both users get it, the sender once.
func testWhoGetsADirectMessage(r *rig) {
	r.must(r.direct("ann", "bob", "to bob"))
	r.must(r.direct("bob", "ann", "to ann"))
	r.must(r.direct("ann", "ann", "to myself"))
	r.must(r.direct("cid", "ann", "from a stranger"))
	r.wantInbox("ann", "ann+bob 1", "ann+bob 2", "ann+ann 1", "ann+cid 1")
	r.wantInbox("bob", "ann+bob 1", "ann+bob 2")
	r.wantInbox("cid", "ann+cid 1")
	r.wantInbox("dan")
}

// Two stores have different epochs; an epoch stays while its store is open.
func testEpoch(r *rig) {
	epoch := r.store.Epoch()
	if epoch == (store.Epoch{}) {
		r.Error("the epoch is zero")
	}
	r.must(r.direct("ann", "bob", "hello"))
	if r.store.Epoch() != epoch {
		r.Error("the epoch has changed")
	}
	other := r.Open(r, Options{Sink: NewRecorder(), Now: r.clock.Now})
	defer other.Close()
	if other.Epoch() == epoch {
		r.Error("two stores have one epoch")
	}
	a := Call(other, r.direct("ann", "bob", "hello"))
	if a.Refusal != store.None || a.MessageID == r.Trace().events()[0].Message.ID {
		r.Errorf("two epochs share a message id: %+v", a)
	}
}
