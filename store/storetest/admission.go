package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"lifeline/store"
)

var admissionTests = []test{
	{name: "Busy", queue: 16, run: testBusy},
	{name: "CloseAnswers", run: testCloseAnswers},
	{name: "CloseWhileSubmitting", run: testCloseWhileSubmitting},
	{name: "InvalidIDs", run: testInvalidIDs},
	{name: "PayloadSizes", run: testPayloadSizes},
	{name: "Origin", run: testOrigin},
}

// S1: a full queue refuses, what it took is carried out, and it takes again when there is room.
func testBusy(r *rig) {
	const tries = 20_000
	r.Hold()
	var taken []<-chan store.Answer
	busy := false
	for i := 0; i < tries && !busy; i++ {
		answer := r.submit(r.direct("ann", "bob", "held"))
		select {
		case a := <-answer:
			busy = true
			if a.Refusal != store.Busy {
				r.Errorf("a full queue gave %v", a.Refusal)
			}
		default:
			taken = append(taken, answer)
		}
	}
	r.Release()
	if !busy {
		r.Fatalf("a queue of 16 took %d commands while the committer stood still", tries)
	}
	for i, answer := range taken {
		if a := await(r, answer); a.Refusal != store.None || a.Seq != uint64(i)+1 {
			r.Fatalf("command %d was answered %v, Seq %d", i, a.Refusal, a.Seq)
		}
	}
	if a := r.must(r.direct("ann", "bob", "after")); a.Seq != uint64(len(taken))+1 {
		r.Fatalf("after %d messages came Seq %d", len(taken), a.Seq)
	}
}

// S2, S22: what was queued at Close is carried out.
func testCloseAnswers(r *rig) {
	r.must(members("tram", 1, "ann", "bob"))
	r.Hold()
	var answers []<-chan store.Answer
	for range 100 {
		answers = append(answers, r.submit(r.direct("ann", "bob", "queued")), r.submit(r.group("bob", "tram", "queued")))
	}
	closed := make(chan error, 1)
	go func() { closed <- r.store.Close() }()
	r.eventually(func() error { // until Close has begun
		answer := r.submit(r.direct("ann", "bob", "queued"))
		select {
		case a := <-answer:
			if a.Refusal == store.Closed {
				return nil
			}
			return fmt.Errorf("Submit gave %v while the store was closing", a.Refusal)
		default:
			answers = append(answers, answer)
			return fmt.Errorf("Close has begun and Submit still takes commands")
		}
	})
	r.Release()
	if err := await(r, closed); err != nil {
		r.Fatalf("close: %v", err)
	}
	r.closed = true
	for i, answer := range answers {
		if a := await(r, answer); a.Refusal != store.None {
			r.Fatalf("command %d was queued and answered %v", i, a.Refusal)
		}
	}
	if a := await(r, r.submit(r.direct("ann", "bob", "late"))); a.Refusal != store.Closed {
		r.Fatalf("a closed store answered %v", a.Refusal)
	}
	if err := r.store.Close(); err != nil {
		r.Fatalf("second close: %v", err)
	}
	r.ack("bob", "phone", 1)
	if s, err := r.store.Start("bob", "phone"); err == nil {
		r.Errorf("a closed store read %+v", s)
	}
	if page, err := r.store.Inbox(store.InboxRead{User: "bob", From: 1, Max: 1, MaxBytes: 1}); err == nil {
		r.Errorf("a closed store read %+v", page)
	}
	if page, err := r.store.History(store.HistoryRead{User: "bob", Conversation: "tram", From: 1, To: 1, MaxBytes: 1}); err == nil {
		r.Errorf("a closed store read %+v", page)
	}
}

// S1, S2: each command that races with Close is taken and answered, or refused.
func testCloseWhileSubmitting(r *rig) {
	failed := make(chan error, 8)
	started := make(chan struct{}, 8)
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for n := 0; ; n++ {
				a, err := r.call(r.direct(fmt.Sprintf("user%d", i), "hub", "racing"))
				if err != nil || a.Refusal != store.None && a.Refusal != store.Closed && a.Refusal != store.Busy {
					failed <- fmt.Errorf("caller %d: answer %v, %v", i, a.Refusal, err)
					return
				}
				if a.Refusal == store.Closed {
					return
				}
				if n == 10 {
					started <- struct{}{}
				}
			}
		})
	}
	for range 8 {
		await(r, started)
	}
	r.close()
	callers.Wait()
	close(failed)
	for err := range failed {
		r.Error(err)
	}
}

// S4, S5: a command with a bad id is refused and changes nothing.
func testInvalidIDs(r *rig) {
	r.must(members("tram", 1, "ann"))
	long := strings.Repeat("x", store.MaxIDBytes+1)
	for _, bad := range []string{"", long, "a\x00", "a\x1fb", "a\u0085", "a\xff"} {
		sends := []*store.Send{r.direct(bad, "bob", ""), r.direct("ann", bad, ""), r.direct("ann", "bob", ""), r.group("ann", bad, ""), r.group(bad, "tram", "")}
		sends[2].SenderDevice = bad
		for _, send := range sends {
			r.refused(send, store.InvalidID)
		}
		r.refused(members(bad, 2, "bob"), store.InvalidID)
		r.refused(&store.Members{Group: "tram", Version: 2, Add: []string{"bob", bad}}, store.InvalidID)
		r.refused(&store.Members{Group: "tram", Version: 2, Remove: []string{"ann", bad}}, store.InvalidID)
		r.refused(&store.Forget{User: bad, Device: "phone"}, store.InvalidID)
		r.refused(&store.Forget{User: "ann", Device: bad}, store.InvalidID)
	}
	for _, size := range []int{0, store.MaxIDBytes + 1} {
		send := r.direct("ann", "bob", "")
		send.ClientID = make([]byte, size)
		r.refused(send, store.InvalidID)
	}
	both := r.direct("ann", "bob", "")
	both.ToGroup = "tram"
	r.refused(both, store.InvalidID)

	tooLargeToo := r.direct("ann", "", strings.Repeat("x", store.MaxPayload+1))
	r.refused(tooLargeToo, store.InvalidID)
	r.must(members("tram", 2, "bob")) // the refused ones have used no version
	r.wantInbox("ann", "tram +1")

	longest := strings.Repeat("é", store.MaxIDBytes/2)
	send := r.direct(longest, longest, "ids of 64 bytes")
	send.SenderDevice, send.ClientID = longest, bytes.Repeat([]byte{0xff}, store.MaxIDBytes)
	r.must(send)
}

// S4, S5: payloads from nothing to the limit.
func testPayloadSizes(r *rig) {
	r.must(r.direct("ann", "bob", ""))
	r.must(r.direct("ann", "bob", strings.Repeat("x", store.MaxPayload)))
	r.refused(r.direct("ann", "bob", strings.Repeat("x", store.MaxPayload+1)), store.TooLarge)
	r.refused(r.group("ann", "nowhere", strings.Repeat("x", store.MaxPayload+1)), store.TooLarge)
	r.wantInbox("bob", "ann+bob 1", "ann+bob 2")
}

// Each answer and each first event carries its command's origin, whole.
func testOrigin(r *rig) {
	send := r.direct("ann", "bob", "hello")
	send.NoNotify = true
	commands := []store.Command{
		members("tram", 1, "ann"),
		members("tram", 1, "bob"),
		send,
		again(send),
		&store.Forget{Origin: store.Origin{Conn: 5, Received: 6}, User: "ann", Device: "phone"},
	}
	for _, c := range commands {
		if a := await(r, r.submit(c)); a.Origin != origin(c) {
			r.Errorf("%T: answer to %+v, want %+v", c, a.Origin, origin(c))
		}
	}
	for _, e := range r.Trace().events() {
		if e.Kind == store.KindConversation && e.Origin != origin(commands[0]) {
			r.Errorf("%s: origin %+v, want %+v", describe(e), e.Origin, origin(commands[0]))
		}
	}
}
