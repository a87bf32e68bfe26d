package delivery

import (
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"

	"lifeline/store"
)

var errPanicked = errors.New("the read panicked")

// ReadKind says what a read is for.
type ReadKind uint8

const (
	ReadStart   ReadKind = iota + 1 // what a new session needs
	ReadInbox                       // entries for a session that is behind; Room 0 asks only for the head
	ReadHistory                     // a Pull
)

// Read is one request to the reader pool. It holds copies of ids only.
type Read struct {
	Kind  ReadKind
	Conn  uint64 // ConnID, handed back
	Reply Reader
	User  string

	// ReadStart.
	Device string

	// ReadInbox.
	From         uint64
	Room         int
	Capabilities uint32
	MaxFrame     int

	// ReadHistory.
	Request      uint64 // id of the Pull
	Conversation string
	FromSeq      uint64
	ToSeq        uint64
}

// Reader takes the answer of a read on a worker's goroutine. It must not block.
type Reader interface{ ReadDone(ReadAnswer) }

// ReadAnswer answers one Read. Frames are ready to be written; the taker gives them back with Recycle.
type ReadAnswer struct {
	Kind    ReadKind
	Conn    uint64
	Err     error
	Request uint64

	Start store.Start // ReadStart

	// ReadInbox.
	Asked         bool // entries were asked for, not only the head
	Head, Trimmed uint64
	Last          uint64 // last position in Frames, 0 = none
	Pushes        int    // frames in Frames
	Frames        *[]byte

	Refusal store.Refusal // ReadHistory: Frames is empty then
}

// Readers reads the store for the loops on a bounded number of goroutines behind a bounded queue. A read that was taken
// is answered exactly once.
type Readers struct {
	// Set at construction.
	store store.Store
	log   *slog.Logger
	queue chan Read
	wg    sync.WaitGroup

	// Guarded by mu.
	mu     sync.RWMutex
	closed bool
}

// NewReaders starts the pool.
func NewReaders(s store.Store, workers, queue int, log *slog.Logger) *Readers {
	r := &Readers{store: s, log: log, queue: make(chan Read, queue)}
	for range workers {
		r.wg.Go(r.work)
	}
	return r
}

// Submit queues a read from any goroutine and never blocks. False means that the queue is full or the pool closed, and
// then no answer follows.
func (r *Readers) Submit(q Read) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return false
	}
	select {
	case r.queue <- q:
		return true
	default:
		return false
	}
}

// Depth is the number of reads that wait, for a gauge.
func (r *Readers) Depth() int { return len(r.queue) }

// Close answers what was taken, then stops the workers.
func (r *Readers) Close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	r.wg.Wait()
}

func (r *Readers) work() {
	var p page
	for q := range r.queue {
		q.Reply.ReadDone(r.read(&p, q))
	}
}

func (r *Readers) read(p *page, q Read) (a ReadAnswer) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("a read panicked", "panic", v, "stack", string(debug.Stack()))
			a = ReadAnswer{Kind: q.Kind, Conn: q.Conn, Request: q.Request, Err: errPanicked}
		}
	}()
	a = ReadAnswer{Kind: q.Kind, Conn: q.Conn, Request: q.Request}
	switch q.Kind {
	case ReadStart:
		a.Start, a.Err = r.store.Start(q.User, q.Device)
	case ReadInbox:
		r.inbox(p, &q, &a)
	case ReadHistory:
		r.history(p, &q, &a)
	}
	return a
}

func (r *Readers) inbox(p *page, q *Read, a *ReadAnswer) {
	room := min(q.Room, store.MaxPageEntries)
	got, err := r.store.Inbox(store.InboxRead{User: q.User, From: q.From, Max: room, MaxBytes: store.MaxPageBytes})
	a.Asked, a.Head, a.Trimmed, a.Err = room > 0, got.Head, got.Trimmed, err
	if err != nil || len(got.Entries) == 0 {
		return
	}
	a.Frames = takeBuffer()
	a.Last = got.Entries[len(got.Entries)-1].Pos
	*a.Frames = p.appendPushes((*a.Frames)[:0], got.Entries, got.Head > a.Last, q)
	a.Pushes = p.pushes
}

func (r *Readers) history(p *page, q *Read, a *ReadAnswer) {
	got, err := r.store.History(store.HistoryRead{User: q.User, Conversation: q.Conversation,
		From: q.FromSeq, To: q.ToSeq, MaxBytes: q.MaxFrame})
	a.Refusal, a.Err = got.Refusal, err
	if err != nil || got.Refusal != store.None {
		return
	}
	a.Frames = takeBuffer()
	*a.Frames = p.appendPulled((*a.Frames)[:0], got, q)
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func takeBuffer() *[]byte { return buffers.Get().(*[]byte) }

// Recycle gives the frames' memory back. Frames is nil afterwards.
func (a *ReadAnswer) Recycle() {
	if a.Frames != nil {
		buffers.Put(a.Frames)
		a.Frames = nil
	}
}
