package commit

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"lifeline/store"
)

// Options says how a Store works. The zero value works.
type Options struct {
	Sink          store.Sink       // takes what was committed; if nil, nobody does
	Now           func() time.Time // times of messages, expiry of client ids; if nil, time.Now
	QueueCommands int              // commands that may wait; if zero, 4096
	QueueBytes    int              // bytes of them; if zero, 32 MiB
	AtOnce        int              // entries written together with their message; if zero, 200. More are owed
	Chunk         int              // entries that are paid together; if zero, 500
	Heads         int              // cached heads of conversations, and as many of inboxes; if zero, 65,536
	Full          func() bool      // asked at each Submit whether the disk is too full for it; if nil, it never is
	Observe       func(Batch)      // on the committer's goroutine, after each batch
	Log           *slog.Logger     // if nil, slog.Default
	Fatal         func(error)      // called once when nothing is known about a batch any more; if nil, logs and exits
}

// Batch is what one commit was.
type Batch struct {
	Commands int
	Keys     int
	Bytes    int           // of keys and values
	Took     time.Duration // in the engine
}

// Store is a store.Store over an engine. All methods may be called from any goroutine, but Close not from a Sink or a
// Replier.
type Store struct {
	// Set at construction.
	engine  store.Engine
	epoch   store.Epoch
	now     func() time.Time
	full    func() bool
	log     *slog.Logger
	queue   *queue
	cursors *cursors
	owed    *owing        // only its total
	stop    chan struct{} // closed by Close
	done    chan struct{} // closed when the committer has ended

	closing  sync.Once
	workers  sync.WaitGroup // the store's own goroutines that submit
	closeErr error
	failed   error // set before done is closed
}

var _ store.Store = (*Store)(nil)

// Open starts a store over an engine that [WriteMeta] has written to, and which it closes when it is closed. It reads
// what the engine owes to inboxes and nothing else.
func Open(engine store.Engine, o Options) (*Store, error) {
	meta, err := mustReadMeta(engine)
	if err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	queue := newQueue(o.QueueCommands, o.QueueBytes)
	s := &Store{
		engine: engine, epoch: meta.Epoch, now: o.Now, full: o.Full, log: o.Log, queue: queue, cursors: newCursors(queue.poke),
		owed: newOwing(), stop: make(chan struct{}), done: make(chan struct{}),
	}
	c := newCommitter(engine, o, queue, s.cursors, s.owed)
	if err := c.resume(); err != nil {
		return nil, fmt.Errorf("read what is owed: %w", err)
	}
	if err := c.readApplied(); err != nil {
		return nil, fmt.Errorf("read the applied indexes: %w", err)
	}
	go s.run(c, o.Fatal)
	s.workers.Go(s.purgeForever)
	return s, nil
}

// WithDefaults fills in what is zero, as Open does.
func (o Options) WithDefaults() Options {
	o.QueueCommands = cmp.Or(o.QueueCommands, 4096)
	o.QueueBytes = cmp.Or(o.QueueBytes, 32<<20)
	o.AtOnce = cmp.Or(o.AtOnce, 200)
	o.Chunk = cmp.Or(o.Chunk, 500)
	o.Heads = cmp.Or(o.Heads, 65536)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Full == nil {
		o.Full = func() bool { return false }
	}
	if o.Fatal == nil {
		o.Fatal = o.exit
	}
	return o
}

// exit ends the process before it could acknowledge what is not durable.
func (o Options) exit(err error) {
	o.Log.Error("the store cannot go on and the process ends; nothing was acknowledged that is not durable", "error", err)
	os.Exit(1)
}

func (s *Store) run(c *committer, fatal func(error)) {
	defer close(s.done)
	if err := c.run(); err != nil {
		s.failed = err
		s.queue.close()
		fatal(err)
	}
}

// Epoch is of the engine's history.
func (s *Store) Epoch() store.Epoch { return s.epoch }

// Submit queues a command or refuses it.
func (s *Store) Submit(command store.Command) store.Refusal {
	refusal := store.None
	switch c := command.(type) {
	case *store.Send:
		refusal = s.refusal(c.ToGroup != "")
	case *store.Members:
		refusal = s.refusal(true)
	case *store.Forget:
		return s.cursors.forget(device{c.User, c.Device}, func() store.Refusal { return s.queue.push(c, size(c), refusal) })
	}
	return s.queue.push(command, size(command), refusal)
}

// refusal is what a command that fills the disk is refused with.
func (s *Store) refusal(group bool) store.Refusal {
	switch {
	case s.full():
		return store.StorageFull
	case group && s.owed.total.Load() >= maxOwed:
		return store.Busy
	}
	return store.None
}

// size is what a command counts in the queue, in bytes; the store's own work counts nothing.
func size(command any) int {
	const fixed = 128
	n := fixed
	switch c := command.(type) {
	case *trim, *purge:
		return 0
	case *store.Send:
		n += len(c.Sender) + len(c.SenderDevice) + len(c.ToUser) + len(c.ToGroup) + len(c.ClientID) + len(c.Payload)
	case *store.Members:
		for _, user := range c.Add {
			n += len(user)
		}
		for _, user := range c.Remove {
			n += len(user)
		}
	}
	return n
}

// Ack notes a device's progress.
func (s *Store) Ack(a store.Ack) { s.cursors.ack(a) }

// Close commits and answers what is queued, stores the cursors and closes the engine. What is owed to inboxes stays
// owed. After it reads fail and Acks are ignored.
func (s *Store) Close() error {
	s.closing.Do(func() {
		close(s.stop)
		s.cursors.close()
		s.queue.close()
		<-s.done
		s.workers.Wait()
		s.closeErr = errors.Join(s.failed, s.engine.Close())
	})
	return s.closeErr
}

// TrimInbox deletes the entries of a user's inbox up to a Pos. It returns when they are gone, and may take long.
func (s *Store) TrimInbox(user string, through uint64) error {
	return s.trim(trim{user: user, through: through})
}

// TrimConversation deletes the messages of a conversation up to a Seq. It returns when they are gone, and may take long.
func (s *Store) TrimConversation(name string, through uint64) error {
	return s.trim(trim{conversation: name, through: through})
}

func (s *Store) trim(t trim) error {
	t.done = make(chan struct{}, 1)
	for t.more = true; t.more; {
		if err := s.do(&t, t.done); err != nil {
			return err
		}
	}
	return nil
}

// do has the committer take a step of the store's own work.
func (s *Store) do(step any, done <-chan struct{}) error {
	if r := s.queue.pushOwn(step); r != store.None {
		return fmt.Errorf("the store is %v", r)
	}
	select {
	case <-done:
		return nil
	case <-s.done:
		return errors.New("the store has ended")
	}
}

// Load is what waits in a store.
type Load struct {
	QueueCommands int
	QueueBytes    int
	Obligations   int // open ones of all conversations
	Cursors       int // devices whose progress is not stored yet
}

// Load is for metrics.
func (s *Store) Load() Load {
	commands, bytes := s.queue.depth()
	return Load{QueueCommands: commands, QueueBytes: bytes, Obligations: int(s.owed.total.Load()), Cursors: s.cursors.size()}
}
