package auth

import (
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Job asks for one check. Token and Device must not alias a connection's buffer.
type Job struct {
	Conn   uint64 // ConnID, handed back in the answer
	Tag    uint64 // belongs to the asker
	Token  []byte
	Device string
	Reply  Replier
}

// Replier takes the answer of a job on a worker's goroutine. It must not block.
type Replier interface{ Authenticated(Answer) }

// Answer is the outcome of one job. Identity is empty when Err is not nil; see [RefusalOf].
type Answer struct {
	Conn     uint64
	Tag      uint64
	Identity Identity
	Err      error
}

// Options of a [Pool].
type Options struct {
	Verifier Verifier
	Workers  int              // goroutines; if zero, one per core
	Queue    int              // jobs that wait; if zero, 4096
	Now      func() time.Time // if nil, time.Now
	Log      *slog.Logger
}

// Pool checks tokens on a bounded number of goroutines behind a bounded queue. A job that was taken is answered exactly
// once, whatever happens to its check.
type Pool struct {
	// Set at construction.
	verifier Verifier
	now      func() time.Time
	log      *slog.Logger
	jobs     chan Job
	workers  sync.WaitGroup

	// Guarded by mu.
	mu     sync.RWMutex
	closed bool
}

// NewPool starts the workers.
func NewPool(o Options) *Pool {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Queue == 0 {
		o.Queue = 4096
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Pool{verifier: o.Verifier, now: o.Now, log: o.Log, jobs: make(chan Job, o.Queue)}
	for range o.Workers {
		p.workers.Go(p.work)
	}
	return p
}

// Submit queues a job from any goroutine and never blocks. It returns false when the queue is full or the pool is
// closed, and then no answer follows.
func (p *Pool) Submit(j Job) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return false
	}
	select {
	case p.jobs <- j:
		return true
	default:
		return false
	}
}

// Depth is the number of jobs that wait, for a gauge.
func (p *Pool) Depth() int { return len(p.jobs) }

// Close answers what was taken, then stops the workers. It is idempotent and waits.
func (p *Pool) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.jobs)
	}
	p.mu.Unlock()
	p.workers.Wait()
}

func (p *Pool) work() {
	for j := range p.jobs {
		id, err := p.check(j)
		j.Reply.Authenticated(Answer{Conn: j.Conn, Tag: j.Tag, Identity: id, Err: err})
	}
}

func (p *Pool) check(j Job) (id Identity, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("token check panicked", "panic", r, "stack", string(debug.Stack()))
			id, err = Identity{}, Internal
		}
	}()
	id, err = p.verifier.Verify(j.Token, p.now())
	if err == nil {
		err = id.Allows(j.Device)
	}
	if err != nil {
		return Identity{}, err
	}
	return id, nil
}
