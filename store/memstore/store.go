package memstore

import (
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"lifeline/store"
)

const (
	defaultQueue = 4096
	maxBatch     = 256 // commands committed together
)

var errClosed = errors.New("store is closed")

// Options says how a Store is made. The zero value works.
type Options struct {
	Sink  store.Sink             // takes what was committed; if nil, nobody does
	Queue int                    // commands that may wait; if zero, 4096
	Now   func() time.Time       // if nil, time.Now
	NewID func() store.MessageID // must never repeat; if nil, random

	// What a model never finds by itself, for the tests of others.
	Full    func() bool             // asked by Submit of Sends and Members: StorageFull; if nil, it never is
	Overdue func(group string) bool // asked for what nothing else refuses: does the group owe too much? If nil, none does
}

// Store is a store.Store in memory. Close it, or its committer stays. All methods may be called from any goroutine,
// but Close not from a Sink or a Replier.
type Store struct {
	// Set at construction.
	sink    store.Sink
	now     func() time.Time
	newID   func() store.MessageID
	full    func() bool
	overdue func(group string) bool
	epoch   store.Epoch
	queue   chan store.Command
	done    chan struct{} // closed when the committer has ended

	// Guarded by mu.
	mu            sync.Mutex
	closed        bool
	users         map[string]*user
	conversations map[string]*conversation
	dedup         map[dedupKey]firstSend
	cursors       map[device]cursor
}

var _ store.Store = (*Store)(nil)

// New makes an empty store with an epoch of its own and starts its committer.
func New(o Options) *Store {
	if o.Queue == 0 {
		o.Queue = defaultQueue
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	if o.Full == nil {
		o.Full = func() bool { return false }
	}
	if o.Overdue == nil {
		o.Overdue = func(string) bool { return false }
	}
	s := &Store{
		sink:          o.Sink,
		now:           o.Now,
		newID:         o.NewID,
		full:          o.Full,
		overdue:       o.Overdue,
		queue:         make(chan store.Command, o.Queue),
		done:          make(chan struct{}),
		users:         map[string]*user{},
		conversations: map[string]*conversation{},
		dedup:         map[dedupKey]firstSend{},
		cursors:       map[device]cursor{},
	}
	rand.Read(s.epoch[:])
	go s.run()
	return s
}

func randomID() (id store.MessageID) {
	rand.Read(id[:])
	return id
}

// Epoch is random per New.
func (s *Store) Epoch() store.Epoch { return s.epoch }

// Submit queues a command or refuses it with Closed, StorageFull or Busy.
func (s *Store) Submit(c store.Command) store.Refusal {
	_, forget := c.(*store.Forget)
	full := !forget && s.full()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return store.Closed
	case full:
		return store.StorageFull
	}
	select {
	case s.queue <- c:
		return store.None
	default:
		return store.Busy
	}
}

// Close commits and answers what is queued. After it reads fail and Acks are ignored.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.mu.Unlock()
	<-s.done
	return nil
}

// run is the committer.
func (s *Store) run() {
	defer close(s.done)
	for first := range s.queue {
		s.commit(s.batch(first))
	}
}

// batch joins to first what is queued behind it, without waiting for more.
func (s *Store) batch(first store.Command) []store.Command {
	batch := []store.Command{first}
	for len(batch) < maxBatch {
		select {
		case c, ok := <-s.queue:
			if !ok {
				return batch
			}
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

// commit carries out a batch. The order is a promise: first the change, then Committed, then the answers.
func (s *Store) commit(batch []store.Command) {
	answers := make([]store.Answer, len(batch))
	var events []store.Event
	s.mu.Lock()
	for i, c := range batch {
		var caused []store.Event
		answers[i], caused = s.apply(c, s.now())
		events = append(events, caused...)
	}
	s.mu.Unlock()

	if s.sink != nil && len(events) > 0 {
		s.sink.Committed(events)
	}
	for i, c := range batch {
		replier(c).Reply(answers[i])
	}
}

// apply carries out one command. Called with mu held, like everything it calls.
func (s *Store) apply(c store.Command, now time.Time) (store.Answer, []store.Event) {
	switch c := c.(type) {
	case *store.Send:
		return s.send(c, now)
	case *store.Members:
		return s.members(c)
	case *store.Forget:
		return s.forget(c), nil
	}
	panic("memstore: a command this store does not know")
}

func replier(c store.Command) store.Replier {
	switch c := c.(type) {
	case *store.Send:
		return c.Reply
	case *store.Members:
		return c.Reply
	case *store.Forget:
		return c.Reply
	}
	panic("memstore: a command this store does not know")
}
