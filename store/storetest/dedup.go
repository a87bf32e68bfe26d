package storetest

import (
	"time"

	"lifeline/store"
)

const day = 24 * time.Hour

var dedupTests = []test{
	{name: "RetryGetsTheFirstAnswer", run: testRetry},
	{name: "ConcurrentRetries", run: testConcurrentRetries},
	{name: "Conflict", run: testConflict},
	{name: "ScopeOfAClientID", run: testScope},
	{name: "ClientIDExpires", run: testExpiry},
	{name: "RetryAfterLeaving", run: testRetryAfterLeaving},
	{name: "RetryAfterTrim", needs: canTrim, run: testRetryAfterTrim},
}

// retried sends the retry of a Send and compares the answers.
func (r *rig) retried(send *store.Send, first store.Answer) {
	r.Helper()
	before := len(r.Trace().events())
	a := r.must(again(send))
	a.Origin, first.Origin = store.Origin{}, store.Origin{}
	if a != first {
		r.Fatalf("a retry was answered %+v, the first send %+v", a, first)
	}
	if after := len(r.Trace().events()); after != before {
		r.Fatal("a retry caused an event")
	}
}

// S8: the same answer, and nothing besides.
func testRetry(r *rig) {
	send := r.direct("ann", "bob", "hello")
	first := r.must(send)
	r.must(r.direct("ann", "bob", "next"))
	r.clock.advance(time.Minute)
	r.retried(send, first)
	r.wantInbox("bob", "ann+bob 1", "ann+bob 2")
}

// S8: many at once, in one batch or several, make one message.
func testConcurrentRetries(r *rig) {
	send := r.direct("ann", "bob", "hello")
	var answers []<-chan store.Answer
	for range 64 {
		answers = append(answers, r.submit(again(send)))
	}
	for _, answer := range answers {
		if a := await(r, answer); a.Refusal != store.None || a.Seq != 1 {
			r.Fatalf("answer %v, Seq %d", a.Refusal, a.Seq)
		}
	}
	r.wantInbox("bob", "ann+bob 1")
}

// S8: another payload is refused, the first answer stays.
func testConflict(r *rig) {
	send := r.direct("ann", "bob", "hello")
	first := r.must(send)
	for _, payload := range []string{"hellp", "hell", "hello ", ""} {
		other := again(send)
		other.Payload = []byte(payload)
		r.refused(other, store.Conflict)
	}
	r.retried(send, first)

	empty := r.direct("ann", "bob", "")
	first = r.must(empty)
	other := again(empty)
	other.Payload = []byte("x")
	r.refused(other, store.Conflict)
	r.retried(empty, first)
}

// S8: the same client id from another device, from another sender or to another conversation is another message.
func testScope(r *rig) {
	r.must(members("tram", 1, "ann", "bob"))
	send := r.direct("ann", "bob", "hello")
	fromDesktop, fromBob, toCid, toGroup := again(send), again(send), again(send), again(send)
	fromDesktop.SenderDevice = "desktop"
	fromBob.Sender, fromBob.ToUser = "bob", "ann"
	toCid.ToUser = "cid"
	toGroup.ToUser, toGroup.ToGroup = "", "tram"
	longer := again(send)
	longer.SenderDevice, longer.ClientID = "phon", append([]byte("e"), send.ClientID...)
	for _, c := range []*store.Send{send, fromDesktop, fromBob, toCid, toGroup, longer} {
		r.must(c)
	}
	r.wantInbox("ann", "tram +1", "ann+bob 1", "ann+bob 2", "ann+bob 3", "ann+cid 1", "tram 1", "ann+bob 4")
}

// S8: seven days after the message its client id is free.
func testExpiry(r *rig) {
	send := r.direct("ann", "bob", "hello")
	first := r.must(send)
	r.clock.advance(7*day - time.Second)
	r.retried(send, first) // and does not prolong it
	r.clock.advance(2 * time.Second)
	if a := r.must(again(send)); a.Seq != 2 || a.MessageID == first.MessageID {
		r.Fatalf("after seven days the client id gave %+v again", a)
	}
	other := again(send)
	other.Payload = []byte("other")
	r.refused(other, store.Conflict)
	r.clock.advance(8 * day)
	if a := r.must(again(other)); a.Seq != 3 {
		r.Fatalf("after eight days another payload got Seq %d", a.Seq)
	}
}

// S4, S8: who was removed still learns that the message is stored.
func testRetryAfterLeaving(r *rig) {
	r.must(members("tram", 1, "ann", "bob"))
	send := r.group("bob", "tram", "bye")
	first := r.must(send)
	r.must(members("tram", 2, "-bob"))
	r.retried(send, first)
	other := again(send)
	other.Payload = []byte("other")
	r.refused(other, store.Conflict)
	r.refused(r.group("bob", "tram", "am I still here?"), store.NotMember)
}

// S8: a client id outlives its message.
func testRetryAfterTrim(r *rig) {
	send := r.direct("ann", "bob", "hello")
	first := r.must(send)
	r.trimConversation(store.Direct("ann", "bob"), 1)
	r.trim("ann", 1)
	r.trim("bob", 1)
	r.retried(send, first)
}
