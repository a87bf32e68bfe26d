package client

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

func (w *world) put(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if _, err := w.c.Send(&Outgoing{ToUser: "bob", ClientID: []byte(name), Payload: []byte(name)}); err != nil {
			w.t.Fatal(err)
		}
	}
	synctest.Wait()
}

// expectSends reads one Send for each name, in order, and returns their request ids.
func (l *line) expectSends(names ...string) (ids []uint64) {
	l.w.t.Helper()
	for _, name := range names {
		f := expect[*protocol.Send](l)
		if string(f.ClientID) != name || string(f.Payload) != name || f.To != protocol.ToUser || string(f.ToID) != "bob" {
			l.w.t.Fatalf("the client sent %s, want message %s", f.AppendText(nil), name)
		}
		ids = append(ids, f.ID)
	}
	return ids
}

func stored1(id, seq uint64) *protocol.Sendack {
	return &protocol.Sendack{ID: id, Seq: seq, MessageID: make([]byte, 16), TimeMs: 1000 + seq}
}

func refused1(id uint64, code protocol.Code) *protocol.Sendack {
	return &protocol.Sendack{ID: id, Status: code.Status()}
}

func (w *world) expectOutcomes(want ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var got []string
	for _, s := range w.sent {
		outcome := fmt.Sprintf("%s %d", s.Message.ClientID, s.Seq)
		var refused *RefusedError
		switch {
		case errors.As(s.Err, &refused):
			outcome = fmt.Sprintf("%s %v", s.Message.ClientID, refused.Status.Code)
		case s.Err != nil:
			outcome = fmt.Sprintf("%s %v", s.Message.ClientID, s.Err)
		}
		got = append(got, outcome)
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("outcomes %q, want %q", got, want)
	}
}

// [P-6.16], [P-6.19]
func TestSend(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		if _, err := w.c.Send(&Outgoing{ToGroup: "team", Payload: []byte("hi"), NoNotify: true}); err != nil {
			t.Fatal(err)
		}
		f := expect[*protocol.Send](l)
		if f.To != protocol.ToGroup || string(f.ToID) != "team" || string(f.Payload) != "hi" || !f.NoNotify || f.SkipOrder || len(f.ClientID) != 16 {
			t.Errorf("the client sent %s", f.AppendText(nil))
		}
		a := stored1(f.ID, 7)
		a.MessageID[0] = 9
		l.send(a)
		if len(w.sent) != 1 || w.sent[0].Seq != 7 || w.sent[0].ID != (MessageID{9}) || !w.sent[0].Time.Equal(time.UnixMilli(1007)) {
			t.Errorf("the outcome is %+v", w.sent)
		}
		if _, err := w.c.Send(&Outgoing{}); !errors.Is(err, errRecipient) {
			t.Errorf("a message to nobody: %v", err)
		}
	})
}

// Messages put while there is no connection go out in order when there is one, and again after every break [P-4.4],
// always under the same client ids [P-6.16].
func TestOutboxDrainsInOrderThroughBreaks(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		w.put("a", "b")
		l := w.at(0)
		expect[*protocol.Connect](l)
		l.send(connack(0, reset, func(f *protocol.Connack) { f.Limits.UnansweredSends = 3 }))
		w.put("c", "d", "e")
		ids := l.expectSends("a", "b")
		l.expectAck(0)
		l.expectSends("c")
		l.quiet(time.Second)
		l.send(stored1(ids[1], 2))
		w.expectOutcomes("b 2")
		l.expectSends("d")
		l.drop()
		l = w.within(0, time.Minute)
		l.resume(0)
		ids = l.expectSends("a", "c", "d", "e")
		l.send(stored1(ids[0], 1), stored1(ids[1], 3), stored1(ids[2], 4), stored1(ids[3], 5))
		w.expectOutcomes("b 2", "a 1", "c 3", "d 4", "e 5")
	})
}

// [P-6.18]
func TestRefusalHoldsTheOutboxInOrder(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		w.put("a", "b", "c")
		ids := l.expectSends("a", "b", "c")
		began := time.Now()
		l.send(stored1(ids[0], 1), refused1(ids[1], protocol.CodeBusy), refused1(ids[2], protocol.CodeOutOfOrder))
		w.put("d")
		f, at := expectAt[*protocol.Send](l)
		if string(f.ClientID) != "b" || at.Sub(began) != 1500*time.Millisecond {
			t.Errorf("%s came after %v, want b after the hint's 1.5 s", f.ClientID, at.Sub(began))
		}
		more := l.expectSends("c", "d")
		l.send(stored1(f.ID, 2), refused1(more[0], protocol.CodeNotMember), stored1(more[1], 3))
		w.expectOutcomes("a 1", "b 2", "c NOT_MEMBER", "d 3")
	})
}

// The app is told that messages wait, and for what, until the server takes them again.
func TestMessagesThatTheServerHoldsUpAreSeen(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		w.put("a", "b")
		ids := l.expectSends("a", "b")
		l.send(refused1(ids[0], protocol.CodeStorageFull), refused1(ids[1], protocol.CodeOutOfOrder))
		s := w.c.Status()
		if s.State != Online || s.Host != "one:7400" {
			t.Errorf("status %+v", s)
		}
		refusal(t, s.Held, protocol.CodeStorageFull)
		ids = l.expectSends("a", "b")
		l.send(stored1(ids[0], 1))
		if s = w.c.Status(); s.State != Online || s.Held != nil {
			t.Errorf("status %+v behind a stored message", s)
		}
		l.send(refused1(ids[1], protocol.CodeBusy))
		refusal(t, w.c.Status().Held, protocol.CodeBusy)
		l.drop()
		l = w.within(0, time.Minute)
		l.resume(0)
		if s = w.c.Status(); s.Held != nil {
			t.Errorf("status %+v on a new line", s)
		}
		ids = l.expectSends("b")
		l.send(refused1(ids[0], protocol.CodeBusy))
		ids = l.expectSends("b")
		l.send(refused1(ids[0], protocol.CodeNotMember))
		if s = w.c.Status(); s.Held != nil {
			t.Errorf("status %+v with an empty outbox", s)
		}
	})
}

// A refusal may come as an Error too.
func TestErrorAnswersASend(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		w.put("a")
		ids := l.expectSends("a")
		l.send(&protocol.Error{ID: ids[0], FrameType: uint32(protocol.TypeSend), Status: protocol.CodeUnsupported.Status()})
		w.expectOutcomes("a UNSUPPORTED")
	})
}

// A frame above the server's limit would end the connection, and again after every reconnect.
func TestPayloadAboveTheServersLimitIsNotSent(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		if _, err := w.c.Send(&Outgoing{ToUser: "bob", ClientID: []byte("a"), Payload: make([]byte, 32<<10+1)}); err != nil {
			t.Fatal(err)
		}
		w.put("b")
		l.expectSends("b")
		w.expectOutcomes("a PAYLOAD_TOO_LARGE")
	})
}

// [P-6.16]
func TestMessagesAreGivenUpVisiblyAfterSixDays(t *testing.T) {
	adjust := func(w *world) { w.refusing = errors.New("no route") }
	play(t, adjust, func(t *testing.T, w *world) {
		w.put("a")
		time.Sleep(time.Hour)
		w.put("b")
		time.Sleep(expiry - time.Hour - time.Millisecond)
		w.expectOutcomes()
		time.Sleep(time.Millisecond)
		w.expectOutcomes("a " + ErrExpired.Error())
		time.Sleep(time.Hour)
		w.expectOutcomes("a "+ErrExpired.Error(), "b "+ErrExpired.Error())
	})
}

func TestOutboxIsBounded(t *testing.T) {
	adjust := func(w *world) { w.o.MaxOutbox = 2 }
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		w.put("a", "b")
		if _, err := w.c.Send(&Outgoing{ToUser: "bob"}); !errors.Is(err, ErrOutboxFull) {
			t.Errorf("a third message: %v", err)
		}
		ids := l.expectSends("a", "b")
		l.send(stored1(ids[0], 1))
		w.put("c")
		l.expectSends("c")
	})
}

// The process ends; another goes on with its outbox.
func TestOutboxOutlivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox")
	f := openOutbox(t, path)
	play(t, func(w *world) { w.o.Outbox = f }, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		w.put("a", "b", "c")
		ids := l.expectSends("a", "b", "c")
		l.send(stored1(ids[1], 1))
	})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openOutbox(t, path)
	inbox := &MemoryInbox{progress: Progress{testEpoch, 0}, known: true}
	play(t, func(w *world) { w.o.Outbox, w.o.Inbox = f, inbox }, func(t *testing.T, w *world) {
		l := w.at(0)
		l.resume(0)
		ids := l.expectSends("a", "c")
		l.send(stored1(ids[0], 2), stored1(ids[1], 3))
		w.expectOutcomes("a 2", "c 3")
	})
	if waiting := load(t, f); len(waiting) != 0 {
		t.Errorf("%d messages still wait", len(waiting))
	}
}

// brokenOutbox fails where the script says.
type brokenOutbox struct {
	MemoryOutbox
	add, remove error
}

func (b *brokenOutbox) Add(*Outgoing) error        { return b.add }
func (b *brokenOutbox) Remove([][]byte) error      { return b.remove }
func (b *brokenOutbox) Load() ([]*Outgoing, error) { return nil, nil }

func TestOutboxThatFails(t *testing.T) {
	full := errors.New("disk full")
	outbox := &brokenOutbox{add: full, remove: full}
	play(t, func(w *world) { w.o.Outbox, w.o.MaxOutbox = outbox, 1 }, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		for range 2 {
			if _, err := w.c.Send(&Outgoing{ToUser: "bob"}); !errors.Is(err, full) {
				t.Errorf("a message that was not persisted: %v", err)
			}
		}
		outbox.add = nil
		w.put("a")
		ids := l.expectSends("a")
		l.send(stored1(ids[0], 1))
		if err := w.result(); !errors.Is(err, full) {
			t.Errorf("Run returned %v", err)
		}
	})
}
