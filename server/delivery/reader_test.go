package delivery

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"lifeline/protocol"
	"lifeline/store"
)

// reads is a store of which a test decides every read.
type reads struct {
	store.Store
	start   func(user, device string) (store.Start, error)
	inbox   func(store.InboxRead) (store.InboxPage, error)
	history func(store.HistoryRead) (store.HistoryPage, error)
}

func (r reads) Start(user, device string) (store.Start, error)         { return r.start(user, device) }
func (r reads) Inbox(q store.InboxRead) (store.InboxPage, error)       { return r.inbox(q) }
func (r reads) History(q store.HistoryRead) (store.HistoryPage, error) { return r.history(q) }

var (
	quiet    = slog.New(slog.DiscardHandler)
	errBroke = errors.New("the disk broke")
)

func newReaders(s store.Store, workers, queue int) *Readers {
	return NewReaders(s, workers, queue, quiet)
}

// desk collects answers.
type desk struct {
	mu      sync.Mutex
	answers []ReadAnswer
}

func (d *desk) ReadDone(a ReadAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers = append(d.answers, a)
}

// ask has one read done and returns its answer.
func ask(t testing.TB, s store.Store, q Read) ReadAnswer {
	t.Helper()
	var d desk
	q.Reply = &d
	r := newReaders(s, 1, 1)
	if !r.Submit(q) {
		t.Fatal("refused")
	}
	r.Close()
	if len(d.answers) != 1 {
		t.Fatalf("%d answers", len(d.answers))
	}
	return d.answers[0]
}

func TestReadStart(t *testing.T) {
	want := store.Start{Head: 9, Trimmed: 2, Cursor: 5, HasCursor: true}
	s := reads{start: func(user, device string) (store.Start, error) {
		if user != "alice" || device != "phone" {
			t.Errorf("asked for %s at %s", user, device)
		}
		return want, nil
	}}
	q := Read{Kind: ReadStart, Conn: 7, User: "alice", Device: "phone"}
	if got := ask(t, s, q); !reflect.DeepEqual(got, ReadAnswer{Kind: ReadStart, Conn: 7, Start: want}) {
		t.Errorf("got %+v", got)
	}
	s.start = func(string, string) (store.Start, error) { return store.Start{}, errBroke }
	if got := ask(t, s, q); !reflect.DeepEqual(got, ReadAnswer{Kind: ReadStart, Conn: 7, Err: errBroke}) {
		t.Errorf("got %+v", got)
	}
}

func TestReadInbox(t *testing.T) {
	q := Read{Kind: ReadInbox, Conn: 7, User: "bob", From: 8, Room: 5, MaxFrame: testFrame}
	entries := []store.Entry{messageEntry(8, 900), messageEntry(9, 1)}
	for _, tt := range []struct {
		name    string
		room    int
		page    store.InboxPage
		err     error
		want    ReadAnswer
		outline string
	}{
		{"entries up to the head", 5, store.InboxPage{Head: 9, Trimmed: 3, Entries: entries}, nil,
			ReadAnswer{Asked: true, Head: 9, Trimmed: 3, Last: 9}, "[8+][9]"},
		{"entries below the head", 5, store.InboxPage{Head: 50, Entries: entries}, nil,
			ReadAnswer{Asked: true, Head: 50, Last: 9}, "[8+][9+]"},
		{"nothing, although asked", 5, store.InboxPage{Head: 7}, nil, ReadAnswer{Asked: true, Head: 7}, ""},
		{"trimmed", 5, store.InboxPage{Head: 20, Trimmed: 8}, nil, ReadAnswer{Asked: true, Head: 20, Trimmed: 8}, ""},
		{"only the head", 0, store.InboxPage{Head: 20, Trimmed: 2}, nil, ReadAnswer{Head: 20, Trimmed: 2}, ""},
		{"an error", 5, store.InboxPage{}, errBroke, ReadAnswer{Asked: true, Err: errBroke}, ""},
	} {
		s := reads{inbox: func(r store.InboxRead) (store.InboxPage, error) {
			if want := (store.InboxRead{User: "bob", From: 8, Max: tt.room, MaxBytes: store.MaxPageBytes}); r != want {
				t.Errorf("%s: asked for %+v, want %+v", tt.name, r, want)
			}
			return tt.page, tt.err
		}}
		q.Room = tt.room
		got := ask(t, s, q)
		var frames []protocol.Push
		if got.Frames != nil {
			frames, _ = decode[protocol.Push](t, *got.Frames)
		}
		if outline(frames) != tt.outline {
			t.Errorf("%s: got %s, want %s", tt.name, outline(frames), tt.outline)
		}
		tt.want.Kind, tt.want.Conn, tt.want.Pushes = ReadInbox, 7, len(frames)
		if got.Frames = nil; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
		}
	}
}

func TestReadInboxAsksForNoMoreThanAPage(t *testing.T) {
	s := reads{inbox: func(r store.InboxRead) (store.InboxPage, error) {
		if r.Max != store.MaxPageEntries {
			t.Errorf("asked for %d entries", r.Max)
		}
		return store.InboxPage{}, nil
	}}
	ask(t, s, Read{Kind: ReadInbox, Room: 10_000})
}

func TestReadHistory(t *testing.T) {
	q := Read{Kind: ReadHistory, Conn: 7, Request: 3, User: "bob", Conversation: "c", FromSeq: 4, ToSeq: 9, MaxFrame: testFrame}
	page := store.HistoryPage{Head: 9, FirstVisible: 1, Messages: []*store.Message{seqMessage(4, 5)}}
	for _, tt := range []struct {
		name string
		page store.HistoryPage
		err  error
		want ReadAnswer
		seqs int
	}{
		{"messages", page, nil, ReadAnswer{}, 1},
		{"nothing", store.HistoryPage{Head: 2}, nil, ReadAnswer{}, 0},
		{"refused", store.HistoryPage{Refusal: store.NotMember}, nil, ReadAnswer{Refusal: store.NotMember}, -1},
		{"an error", store.HistoryPage{}, errBroke, ReadAnswer{Err: errBroke}, -1},
	} {
		s := reads{history: func(r store.HistoryRead) (store.HistoryPage, error) {
			if want := (store.HistoryRead{User: "bob", Conversation: "c", From: 4, To: 9, MaxBytes: testFrame}); r != want {
				t.Errorf("%s: asked for %+v, want %+v", tt.name, r, want)
			}
			return tt.page, tt.err
		}}
		got := ask(t, s, q)
		seqs := -1
		if got.Frames != nil {
			frames, _ := decode[protocol.Pulled](t, *got.Frames)
			if len(frames) != 1 || frames[0].ID != 3 || frames[0].Head != tt.page.Head {
				t.Errorf("%s: got %+v", tt.name, frames)
			}
			seqs = len(frames[0].Messages)
		}
		if seqs != tt.seqs {
			t.Errorf("%s: %d messages, want %d", tt.name, seqs, tt.seqs)
		}
		tt.want.Kind, tt.want.Conn, tt.want.Request = ReadHistory, 7, 3
		if got.Frames = nil; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
		}
	}
}

// A read that panics, in the store or while its answer is written, is answered by an error, and the reader goes on.
func TestReadThatPanicsIsAnswered(t *testing.T) {
	var log bytes.Buffer
	var d desk
	s := reads{
		start:   func(string, string) (store.Start, error) { panic("start broke") },
		history: func(store.HistoryRead) (store.HistoryPage, error) { panic("history broke") },
		inbox: func(r store.InboxRead) (store.InboxPage, error) {
			page := store.InboxPage{Head: 9, Entries: []store.Entry{messageEntry(1, 1)}}
			if r.User == "broken" { // an entry without its message
				page.Entries = append(page.Entries, store.Entry{Pos: 2, Kind: store.KindMessage})
			}
			return page, nil
		},
	}
	r := NewReaders(s, 1, 8, slog.New(slog.NewTextHandler(&log, nil)))
	for i, q := range []Read{
		{Kind: ReadStart}, {Kind: ReadHistory, Request: 5}, {Kind: ReadInbox, User: "broken", Room: 2, MaxFrame: testFrame},
		{Kind: ReadInbox, User: "bob", Room: 2, MaxFrame: testFrame},
	} {
		q.Conn, q.Reply = uint64(i), &d
		if !r.Submit(q) {
			t.Fatal("refused")
		}
	}
	r.Close()
	if len(d.answers) != 4 {
		t.Fatalf("%d answers", len(d.answers))
	}
	for i, want := range []ReadAnswer{
		{Kind: ReadStart, Err: errPanicked},
		{Kind: ReadHistory, Conn: 1, Request: 5, Err: errPanicked},
		{Kind: ReadInbox, Conn: 2, Err: errPanicked},
	} {
		if !reflect.DeepEqual(d.answers[i], want) {
			t.Errorf("got %+v, want %+v", d.answers[i], want)
		}
	}
	if good := d.answers[3]; good.Err != nil || good.Frames == nil || good.Last != 1 {
		t.Errorf("the read after them: %+v", good)
	}
	for _, want := range []string{"start broke", "history broke", "reader_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q", want)
		}
	}
}

func TestReadersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, queue = 2, 3
		gate := make(chan struct{})
		var running, most atomic.Int32
		s := reads{inbox: func(store.InboxRead) (store.InboxPage, error) {
			most.Store(max(most.Load(), running.Add(1)))
			<-gate
			running.Add(-1)
			return store.InboxPage{}, nil
		}}
		var d desk
		r := newReaders(s, workers, queue)
		for i := range workers + queue {
			if !r.Submit(Read{Kind: ReadInbox, Reply: &d}) {
				t.Fatalf("read %d was refused", i)
			}
			synctest.Wait()
		}
		if r.Depth() != queue {
			t.Errorf("%d reads wait, want %d", r.Depth(), queue)
		}
		for range 3 {
			if r.Submit(Read{Kind: ReadInbox, Reply: &d}) {
				t.Error("a read was taken although the queue is full")
			}
		}
		gate <- struct{}{}
		synctest.Wait()
		if !r.Submit(Read{Kind: ReadInbox, Reply: &d}) {
			t.Error("refused although there is room again")
		}
		close(gate)
		r.Close()
		if len(d.answers) != workers+queue+1 || most.Load() != workers || r.Depth() != 0 {
			t.Errorf("%d answers, %d reads at once, %d wait", len(d.answers), most.Load(), r.Depth())
		}
	})
}

func TestReadersClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := reads{inbox: func(store.InboxRead) (store.InboxPage, error) { <-gate; return store.InboxPage{}, nil }}
		var d desk
		r := newReaders(s, 1, 4)
		for range 4 {
			if !r.Submit(Read{Kind: ReadInbox, Reply: &d}) {
				t.Fatal("refused")
			}
		}
		closed := make(chan struct{})
		go func() { r.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Fatal("Close did not wait for what was taken")
		default:
		}
		if r.Submit(Read{Kind: ReadInbox, Reply: &d}) {
			t.Error("a read was taken after Close")
		}
		close(gate)
		<-closed
		r.Close()
		if len(d.answers) != 4 {
			t.Errorf("%d answers, want 4", len(d.answers))
		}
	})
}

// Many askers, reads that fail in every way, and a Close in between: what was taken is answered once, the rest never. The
// frames of an answer stay as they are until they are given back.
func TestEveryReadIsAnsweredOnce(t *testing.T) {
	const askers, each = 8, 400
	s := reads{
		start: func(user, _ string) (store.Start, error) { return store.Start{Head: 1}, nil },
		inbox: func(r store.InboxRead) (store.InboxPage, error) {
			switch r.From % 4 {
			case 0:
				panic("this one breaks")
			case 1:
				return store.InboxPage{}, errBroke
			}
			m := testMessage(100)
			m.Payload = []byte(r.User)
			return store.InboxPage{Head: 1, Entries: []store.Entry{{Pos: r.From, Kind: store.KindMessage, Message: m}}}, nil
		},
		history: func(store.HistoryRead) (store.HistoryPage, error) {
			return store.HistoryPage{Refusal: store.NotMember}, nil
		},
	}
	var d desk
	r := newReaders(s, 4, 64)
	taken := make([][]bool, askers)
	var asking sync.WaitGroup
	for asker := range askers {
		taken[asker] = make([]bool, each)
		asking.Go(func() {
			for i := range each {
				id := uint64(asker*each + i)
				q := Read{Kind: ReadKind(1 + i%3), Conn: id, User: fmt.Sprint(id), From: id, Room: 1, MaxFrame: testFrame, Reply: &d}
				taken[asker][i] = r.Submit(q)
				if asker == 0 && i == each/2 {
					r.Close()
				}
			}
		})
	}
	asking.Wait()
	r.Close()
	answers := make(map[uint64]int)
	for i := range d.answers {
		a := &d.answers[i]
		answers[a.Conn]++
		if a.Frames == nil {
			continue
		}
		frames, _ := decode[protocol.Push](t, *a.Frames)
		if got, want := string(frames[0].Entries[0].Message.Payload), fmt.Sprint(a.Conn); got != want {
			t.Errorf("answer %s holds the frames of %s", want, got)
		}
	}
	for asker := range taken {
		for i, was := range taken[asker] {
			if n := answers[uint64(asker*each+i)]; was && n != 1 || !was && n != 0 {
				t.Errorf("read %d of asker %d: taken %v, answered %d times", i, asker, was, n)
			}
		}
	}
	if len(answers) == 0 || len(answers) == askers*each {
		t.Errorf("%d reads of %d were taken: Close came too early or too late", len(answers), askers*each)
	}
}

func TestRecycle(t *testing.T) {
	a := ReadAnswer{Frames: takeBuffer()}
	a.Recycle()
	if a.Frames != nil {
		t.Error("the frames are still there")
	}
	a.Recycle()
	var none ReadAnswer
	none.Recycle()
	if none.Frames != nil {
		t.Error("an answer without frames has got some")
	}
}
