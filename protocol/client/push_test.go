package client

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// [P-6.9]
func TestAcksComeLateAndTogether(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		began := time.Now()
		l.send(push(1, "a", "b"))
		if at := l.expectAck(2); at.Sub(began) != 200*time.Millisecond {
			t.Errorf("acknowledged after %v, want 200ms", at.Sub(began))
		}
		began = time.Now()
		l.send(push(3, numbered(3, 18)...))
		if at := l.expectAck(18); !at.Equal(began) {
			t.Errorf("16 entries were acknowledged after %v, want at once", at.Sub(began))
		}
		l.quiet(time.Hour)
	})
}

// An app that takes its time: nothing is acknowledged, and nobody is kept from pinging, sending or reconnecting.
func TestAckFollowsTheHandler(t *testing.T) {
	var release chan struct{}
	adjust := func(w *world) {
		release = make(chan struct{})
		w.o.OnMessage = func(m Message) error { <-release; return w.message(m) }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, func(f *protocol.Connack) { f.Heartbeat.IntervalS = 60 })
		l.send(push(1, "a", "b"))
		expect[*protocol.Ping](l)
		l.send(&protocol.Pong{})
		if _, err := w.c.Send(&Outgoing{ToUser: "bob"}); err != nil {
			t.Fatal(err)
		}
		expect[*protocol.Send](l)
		l.drop()
		l = w.within(0, time.Minute)
		l.resume(0)
		expect[*protocol.Send](l)
		l.send(push(1, "a", "b", "c"))
		l.quiet(time.Minute)
		close(release)
		l.expectAck(3)
		w.expectHandled("a", "b", "c")
	})
}

// What is on its way to the app when the line breaks is not given to it twice, and is acknowledged only as far as the
// new line has brought it.
func TestEntriesInHandOutliveTheLine(t *testing.T) {
	var release chan struct{}
	adjust := func(w *world) {
		release = make(chan struct{})
		w.o.OnMessage = func(m Message) error { <-release; return w.message(m) }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "a", "b", "c"))
		l.drop()
		l = w.within(0, time.Minute)
		l.resume(0)
		l.send(push(1, "a"))
		close(release)
		l.expectAck(1)
		l.send(push(2, "b", "c", "d"))
		l.expectAck(4)
		w.expectHandled("a", "b", "c", "d")
	})
}

// What the app handles between a Connect, which names an older position, and its Connack comes again, is not given to the
// app again, and is acknowledged.
func TestEntriesHandledWhileConnecting(t *testing.T) {
	var release chan struct{}
	adjust := func(w *world) {
		release = make(chan struct{})
		w.o.OnMessage = func(m Message) error { <-release; return w.message(m) }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "a", "b", "c"))
		l.drop()
		l = w.within(0, time.Minute)
		expect[*protocol.Connect](l)
		close(release)
		w.expectHandled("a", "b", "c")
		l.send(connack(0), push(1, "a", "b", "c"))
		l.expectAck(3)
	})
}

// [P-6.5]
func TestHoleIsNotAccepted(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "a"))
		l.expectAck(1)
		f := push(2, "b", "c")
		f.Entries[1].Pos = 4
		l.send(f)
		l.expectEnd()
		w.expectHandled("a")
		l = w.within(0, time.Minute)
		l.resume(1)
		l.send(push(2, "b", "c"))
		l.expectAck(3)
		w.expectHandled("a", "b", "c")
	})
}

func TestServerThatOverrunsItsWindow(t *testing.T) {
	var release chan struct{}
	adjust := func(w *world) {
		release = make(chan struct{})
		w.o.OnMessage = func(m Message) error { <-release; return w.message(m) }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "0"))
		for n := range 4 {
			l.send(push(uint64(2+64*n), numbered(1+64*n, 64+64*n)...))
		}
		l.send(push(258, "257"))
		l.expectEnd()
		close(release)
		l = w.within(0, time.Minute)
		l.resume(257)
		l.send(push(258, "257"))
		l.expectAck(258)
		w.expectHandled(numbered(0, 257)...)
	})
}

// A message that comes again under another position is dropped by its id, and counted; the count goes out with the next
// Connect, once [P-6.10].
func TestDuplicatesAreDroppedAndReported(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "a", "b", "a"))
		l.expectAck(3)
		l.send(push(4, "b", "c"))
		l.expectAck(5)
		w.expectHandled("a", "b", "c")
		l.drop()
		w.refuse(errors.New("no route"))
		time.Sleep(2 * time.Second)
		w.refuse(nil)
		l = w.within(0, time.Minute)
		if f := l.resume(5); f.Duplicates != 2 {
			t.Errorf("%d duplicates are reported, want 2", f.Duplicates)
		}
		l.drop()
		if f := w.within(0, time.Minute).resume(5); f.Duplicates != 0 {
			t.Errorf("%d duplicates are reported again", f.Duplicates)
		}
		var got []uint64
		for _, a := range w.arrivals {
			got = append(got, a.Duplicates)
		}
		if want := []uint64{0, 2, 0}; !slices.Equal(got, want) {
			t.Errorf("the app is told of %v duplicates, want %v", got, want)
		}
	})
}

// [P-6.13]
func TestOtherEntries(t *testing.T) {
	var kinds []protocol.EntryKind
	adjust := func(w *world) {
		w.o.Capabilities = 5
		w.o.OnEntry = func(e *protocol.Entry) error { kinds = append(kinds, e.Kind); return nil }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		if f := l.begin(0); f.Capabilities != 5 {
			t.Errorf("Connect is %s", f.AppendText(nil))
		}
		f := push(1, "a")
		f.Entries = append(f.Entries,
			protocol.Entry{Pos: 2, Kind: protocol.EntryVoid, Void: protocol.Void{To: 9}},
			protocol.Entry{Pos: 10, Kind: protocol.EntryRead},
			protocol.Entry{Pos: 11}, // a kind of the future
			protocol.Entry{Pos: 12, Kind: protocol.EntryConversation})
		l.send(f)
		l.expectAck(12)
		w.expectHandled("a")
		if want := []protocol.EntryKind{protocol.EntryRead, protocol.EntryConversation}; !slices.Equal(kinds, want) {
			t.Errorf("OnEntry was given %v, want %v", kinds, want)
		}
	})
}

// The app fails in the middle of a batch: what it handled is stored, the rest comes again when it starts anew.
func TestAppThatCannotStoreAMessageStopsTheClient(t *testing.T) {
	full := errors.New("disk full")
	inbox := new(MemoryInbox)
	adjust := func(w *world) {
		w.o.Inbox = inbox
		w.o.OnMessage = func(m Message) error {
			if string(m.Payload) == "c" && full != nil {
				return full
			}
			return w.message(m)
		}
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "a", "b", "c", "d"))
		if err := w.result(); !errors.Is(err, full) {
			t.Fatalf("Run returned %v", err)
		}
		<-w.ended
		l.expectEnd()
		w.expectHandled("a", "b")
		if p, _, _ := inbox.Progress(); p.Pos != 2 {
			t.Errorf("position %d is stored, want 2", p.Pos)
		}
		full = nil
		w.run()
		l = w.at(0)
		l.resume(2)
		l.send(push(3, "c", "d"))
		l.expectAck(4)
		w.expectHandled("a", "b", "c", "d")
	})
}

// brokenInbox fails where the script says.
type brokenInbox struct {
	MemoryInbox
	commit, seen, progress error
}

func (b *brokenInbox) Seen(MessageID) (bool, error) { return false, b.seen }

func (b *brokenInbox) Progress() (Progress, bool, error) {
	if b.progress != nil {
		return Progress{}, false, b.progress
	}
	return b.MemoryInbox.Progress()
}

func (b *brokenInbox) Commit(ids []MessageID, pos uint64) error {
	if b.commit != nil {
		return b.commit
	}
	return b.MemoryInbox.Commit(ids, pos)
}

func TestInboxThatFailsStopsTheClient(t *testing.T) {
	full := errors.New("disk full")
	for name, inbox := range map[string]*brokenInbox{"commit": {commit: full}, "seen": {seen: full}} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) { w.o.Inbox = inbox }, func(t *testing.T, w *world) {
				l := w.at(0)
				l.begin(0)
				l.send(push(1, "a"))
				if err := w.result(); !errors.Is(err, full) {
					t.Errorf("Run returned %v", err)
				}
				l.expectEnd()
			})
		})
	}
}

// A message that was stored when the server's limit was larger comes in a frame above the limit of today [P-1.7].
func TestMessageAboveTheLimitOfToday(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, func(f *protocol.Connack) { f.Limits.MaxFrame, f.Limits.MaxPayload = 3048, 1000 })
		large := strings.Repeat("p", protocol.PayloadCeiling)
		l.send(push(1, large))
		l.expectAck(1)
		w.expectHandled(large)
	})
}

func TestMessageHasEverything(t *testing.T) {
	var got Message
	adjust := func(w *world) { w.o.OnMessage = func(m Message) error { got = m; return nil } }
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(4)
		f := push(5, "a")
		m := &f.Entries[0].Message
		m.ClientID, m.SenderDevice, m.State, m.TimeMs = []byte("c"), []byte("desktop"), protocol.Recalled, 1234
		m.HasPayload, m.Payload = false, nil
		l.send(f)
		synctest.Wait()
		want := Message{Pos: 5, Conversation: "alice\x1fbob", Seq: 5, ID: messageID([]byte("a")), Sender: "alice",
			SenderDevice: "desktop", Time: time.UnixMilli(1234), Recalled: true}
		if string(got.ClientID) != "c" || got.HasPayload || got.Payload != nil {
			t.Errorf("got %+v", got)
		}
		got.ClientID = nil
		if got.Pos != want.Pos || got.Conversation != want.Conversation || got.Seq != want.Seq || got.ID != want.ID ||
			got.Sender != want.Sender || got.SenderDevice != want.SenderDevice || !got.Time.Equal(want.Time) || !got.Recalled {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
