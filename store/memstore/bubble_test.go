package memstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"lifeline/store"
	"lifeline/store/memstore"
	"lifeline/store/storetest"
)

// gate is a sink that stands until it is opened.
type gate chan struct{}

func (g gate) Committed([]store.Event) { <-g }

// answers takes answers.
type answers chan store.Answer

func (a answers) Reply(answer store.Answer) { a <- answer }

func hello(client string, to store.Replier) *store.Send {
	return &store.Send{Reply: to, Sender: "ann", SenderDevice: "phone", ToUser: "bob", ClientID: []byte(client)}
}

// Submit returns before the commit, no timer is needed for the answer, and Close leaves no goroutine behind: the bubble
// would not end.
func TestAsynchronousInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, got := make(gate), make(answers, 10)
		s := memstore.New(memstore.Options{Sink: g, Queue: 2})
		begin := time.Now()
		s.Submit(hello("1", got))
		synctest.Wait() // the committer stands at the gate with the first
		for i, want := range []store.Refusal{store.None, store.None, store.Busy} {
			if r := s.Submit(hello(string(rune('2'+i)), got)); r != want {
				t.Errorf("submit %d behind the gate: %v, want %v", i, r, want)
			}
		}
		if len(got) != 0 {
			t.Error("an answer came before Committed returned")
		}
		close(g)
		synctest.Wait()
		if len(got) != 3 {
			t.Errorf("%d answers, want 3", len(got))
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("it took %v of the bubble's time", waited)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Clock and ids come from the options, so that a test can know them.
func TestDeterminism(t *testing.T) {
	last := byte(0)
	s := memstore.New(memstore.Options{
		Now:   func() time.Time { return time.UnixMilli(1234) },
		NewID: func() store.MessageID { last++; return store.MessageID{last} },
	})
	defer s.Close()
	for i := range byte(3) {
		a := storetest.Call(s, hello(string(rune('a'+i)), nil))
		want := store.Answer{Seq: uint64(i) + 1, MessageID: store.MessageID{i + 1}, Time: 1234}
		if a != want {
			t.Errorf("answer %+v, want %+v", a, want)
		}
	}
	page, err := s.Inbox(store.InboxRead{User: "bob", From: 3, Max: 1})
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Message.Time != 1234 || page.Entries[0].Message.ID != (store.MessageID{3}) {
		t.Errorf("inbox %+v, %v", page, err)
	}
}

// Call gives the refusal at admission as an answer, and keeps the origin.
func TestCallOnAClosedStore(t *testing.T) {
	s := memstore.New(memstore.Options{})
	s.Close()
	send := hello("1", nil)
	send.Origin.Tag = 7
	if a := storetest.Call(s, send); a != (store.Answer{Origin: store.Origin{Tag: 7}, Refusal: store.Closed}) {
		t.Errorf("answer %+v", a)
	}
}
