package storetest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lifeline/store"
)

// clock is the store's time. It stands still unless a test moves it.
type clock struct {
	// Guarded by mu.
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a store under test with its recorder. Its methods end the test when something is wrong, so they belong to the
// test's goroutine, but for those that return an error.
type rig struct {
	testing.TB
	Harness
	*Recorder
	clock  *clock
	store  store.Store
	closed bool
	client atomic.Uint64 // last client id given out
}

// newRig opens a store, which is closed at the end of the test.
func newRig(tb testing.TB, h Harness, c *clock, queue int) *rig {
	r := &rig{TB: tb, Harness: h, Recorder: NewRecorder(), clock: c}
	r.store = h.Open(tb, Options{Sink: r, Now: c.Now, Queue: queue})
	tb.Cleanup(func() {
		r.Release()
		r.close()
	})
	return r
}

// direct makes a Send from one user to another with a client id of its own.
func (r *rig) direct(from, to, payload string) *store.Send {
	return &store.Send{Origin: store.Origin{Conn: 7, Received: 11}, Sender: from, SenderDevice: "phone", ToUser: to, ClientID: r.clientID(), Payload: []byte(payload)}
}

// group makes a Send from a user to a group with a client id of its own.
func (r *rig) group(from, group, payload string) *store.Send {
	s := r.direct(from, "", payload)
	s.ToGroup = group
	return s
}

func (r *rig) clientID() []byte {
	return binary.BigEndian.AppendUint64([]byte("\x00\xffclient"), r.client.Add(1))
}

// again makes the retry of a Send.
func again(s *store.Send) *store.Send {
	retry := *s
	return &retry
}

// members makes a Members command. A name with a minus in front is removed.
func members(group string, version uint64, names ...string) *store.Members {
	c := &store.Members{Group: group, Version: version}
	for _, name := range names {
		if removed, ok := strings.CutPrefix(name, "-"); ok {
			c.Remove = append(c.Remove, removed)
		} else {
			c.Add = append(c.Add, name)
		}
	}
	return c
}

// submit submits a command; the answer comes on the channel.
func (r *rig) submit(c store.Command) <-chan store.Answer { return r.Submit(r.store, c) }

// call submits a command and returns its answer. Any goroutine may call it.
func (r *rig) call(c store.Command) (store.Answer, error) { return receive(r.submit(c)) }

// must carries out a command that may not be refused.
func (r *rig) must(c store.Command) store.Answer {
	r.Helper()
	a := await(r, r.submit(c))
	if a.Refusal != store.None {
		r.Fatalf("%T was refused: %v", c, a.Refusal)
	}
	return a
}

// refused carries out a command that must be refused and change nothing. Nothing else may be under way.
func (r *rig) refused(c store.Command, want store.Refusal) {
	r.Helper()
	before := len(r.Trace().events())
	if a := await(r, r.submit(c)); a.Refusal != want {
		r.Fatalf("%T was answered %v, want %v", c, a.Refusal, want)
	}
	if after := len(r.Trace().events()); after != before {
		r.Fatalf("%T was refused (%v) and caused an event", c, want)
	}
}

func (r *rig) start(user, device string) store.Start {
	r.Helper()
	start, err := r.store.Start(user, device)
	if err != nil {
		r.Fatalf("start of %s: %v", user, err)
	}
	return start
}

func (r *rig) inboxPage(read store.InboxRead) store.InboxPage {
	r.Helper()
	page, err := r.store.Inbox(read)
	if err != nil {
		r.Fatalf("inbox %+v: %v", read, err)
	}
	return page
}

func (r *rig) historyPage(read store.HistoryRead) store.HistoryPage {
	r.Helper()
	page, err := r.store.History(read)
	if err != nil {
		r.Fatalf("history %+v: %v", read, err)
	}
	return page
}

// entries reads what is left of a user's inbox.
func (r *rig) entries(user string) []store.Entry {
	r.Helper()
	var entries []store.Entry
	for from := r.start(user, "phone").Trimmed + 1; ; {
		page := r.inboxPage(store.InboxRead{User: user, From: from, Max: store.MaxPageEntries, MaxBytes: store.MaxPageBytes})
		entries = append(entries, page.Entries...)
		from += uint64(len(page.Entries))
		if from > page.Head {
			return entries
		}
		if len(page.Entries) == 0 {
			r.Fatalf("inbox of %s: no entries at %d of %d", user, from, page.Head)
		}
	}
}

// inbox reads what is left of a user's inbox, as text.
func (r *rig) inbox(user string) []string {
	r.Helper()
	var texts []string
	for _, e := range r.entries(user) {
		texts = append(texts, text(e))
	}
	return texts
}

// wantInbox compares an inbox with its text.
func (r *rig) wantInbox(user string, want ...string) {
	r.Helper()
	if got := r.inbox(user); !slices.Equal(got, want) {
		r.Fatalf("inbox of %s:\n got %q\nwant %q", user, got, want)
	}
}

// text writes an entry: "ann+bob 3" is a message, "tram +4" joining from Seq 4 on, "tram -6" leaving after Seq 6.
func text(e store.Entry) string {
	switch {
	case e.Void:
		return "void"
	case e.Message != nil:
		return fmt.Sprintf("%s %d", strings.ReplaceAll(e.Message.Conversation, "\x1f", "+"), e.Message.Seq)
	case e.Membership != nil && e.Membership.Member:
		return fmt.Sprintf("%s +%d", e.Membership.Conversation, e.Membership.FirstSeq)
	case e.Membership != nil:
		return fmt.Sprintf("%s -%d", e.Membership.Conversation, e.Membership.LastSeq)
	}
	return fmt.Sprintf("kind %d without content", e.Kind)
}

// ack acknowledges a position.
func (r *rig) ack(user, device string, pos uint64) {
	r.store.Ack(store.Ack{User: user, Device: device, Platform: 1, Pos: pos, HasPos: true})
}

// wantCursor waits until a device's cursor shows in Start.
func (r *rig) wantCursor(user, device string, want uint64) {
	r.Helper()
	r.eventually(func() error {
		if s := r.start(user, device); !s.HasCursor || s.Cursor != want {
			return fmt.Errorf("cursor of %s/%s: %+v, want %d", user, device, s, want)
		}
		return nil
	})
}

// eventually repeats a check until it passes, more and more rarely, and ends the test if it never does.
func (r *rig) eventually(check func() error) {
	r.Helper()
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("after %v: %v", patience, err)
		}
		<-time.After(pause)
	}
}

func (r *rig) trim(user string, upTo uint64) {
	r.Trim(r, r.store, user, upTo)
	r.Trimmed(Trimming{User: user, UpTo: upTo})
}

func (r *rig) trimConversation(conversation string, upTo uint64) {
	r.TrimConversation(r, r.store, conversation, upTo)
	r.Trimmed(Trimming{Conversation: conversation, UpTo: upTo})
}

// reopen closes the store and opens its data again.
func (r *rig) reopen() {
	r.Reopened() // before, since the store may pay what it owes as soon as it is open
	r.store = r.Reopen(r, r.store, Options{Sink: r, Now: r.clock.Now})
}

// cut cuts the store's power while nothing is under way, and opens what is left.
func (r *rig) cut() {
	r.Reopened()
	r.store = r.Crash(r, r.store, Options{Sink: r, Now: r.clock.Now})
}

func (r *rig) close() {
	r.Helper()
	if r.closed {
		return
	}
	r.closed = true
	if err := r.store.Close(); err != nil {
		r.Errorf("close: %v", err)
	}
}

// settle waits until nothing is owed to an inbox.
func (r *rig) settle() {
	r.Helper()
	r.eventually(func() error { return CheckDelivery(r.Trace()) })
}

// verify holds everything that was seen against the rules, and everything that can be read against the trace.
func (r *rig) verify() {
	r.Helper()
	r.settle()
	trace := r.Trace()
	if err := Check(trace); err != nil {
		r.Fatal(err)
	}
	if r.closed {
		return
	}
	replay := NewReplay(trace)
	for user := range replay.inboxes {
		r.verifyInbox(replay, user)
	}
	for name, l := range replay.conversations {
		for user := range l.spans {
			r.verifyHistory(replay, user, name)
		}
	}
}

// verifyInbox walks an inbox page by page.
func (r *rig) verifyInbox(replay *Replay, user string) {
	r.Helper()
	for from := uint64(1); ; {
		read := store.InboxRead{User: user, From: from, Max: store.MaxPageEntries, MaxBytes: store.MaxPageBytes}
		page := r.inboxPage(read)
		if err := replay.CheckInbox(read, page); err != nil {
			r.Fatal(err)
		}
		if from += uint64(len(page.Entries)); from > page.Head {
			return
		}
		from = max(from, page.Trimmed+1)
	}
}

// verifyHistory walks a conversation page by page.
func (r *rig) verifyHistory(replay *Replay, user, conversation string) {
	r.Helper()
	for from := uint64(1); ; {
		read := store.HistoryRead{User: user, Conversation: conversation, From: from, To: 1 << 40, MaxBytes: store.MaxPageBytes}
		page := r.historyPage(read)
		if err := replay.CheckHistory(read, page); err != nil {
			r.Fatal(err)
		}
		if !page.More {
			return
		}
		from = page.Messages[len(page.Messages)-1].Seq + 1
	}
}
