package commit

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"time"

	"lifeline/store"
)

// committer resolves commands into batches. While one batch is being committed, commands behind it are resolved into the
// next: they read what is durable, then that batch, then their own. Everything here belongs to the committer's one
// goroutine; another one only waits for the engine.
type committer struct {
	// Set at construction.
	engine    store.Engine
	sink      store.Sink
	clock     func() time.Time
	observe   func(Batch)
	queue     *queue
	cursors   *cursors
	owing     *owing
	atOnce    int // entries that are written with what they tell of; more are owed
	chunkSize int // entries that an obligation puts into one batch

	conversations *heads[talk]
	inboxes       *heads[inbox]
	batch         *batch // that is being built
	flying        *batch // that is being committed; nil when none is
	spare         []*batch
	commits       chan *batch // to the goroutine that waits for the engine
	results       chan error
	clients       int                      // known of all cached conversations
	applied       [store.Partitions]uint64 // of the last batch sealed
	waiting       []any                    // taken from the queue; those before next are in a batch
	next          int
	ids           *rand.ChaCha8

	// Scratch, valid until the next use.
	key, value, name []byte
	members          []*head[inbox]
	spans            spans
}

func newCommitter(engine store.Engine, o Options, queue *queue, cursors *cursors, owing *owing) *committer {
	c := &committer{
		engine: engine, sink: o.Sink, clock: o.Now, observe: o.Observe, queue: queue, cursors: cursors, owing: owing,
		atOnce: o.AtOnce, chunkSize: o.Chunk,
		batch: newBatch(), commits: make(chan *batch, 1), results: make(chan error, 1),
	}
	c.batch.number = 1
	c.conversations = newHeads(o.Heads, c.drop)
	c.inboxes = newHeads[inbox](o.Heads, nil)
	var seed [32]byte
	crand.Read(seed[:])
	c.ids = rand.NewChaCha8(seed)
	return c
}

// run commits until the queue is closed and everything in it is answered. An error means that nothing is known about
// the last batch: the caller must give no answer any more.
func (c *committer) run() error {
	go c.commitEach()
	defer close(c.commits)
	for {
		closed := c.queue.isClosed() // asked first: what was queued before is seen below
		if err := c.build(); err != nil {
			return err
		}
		switch {
		case c.flying != nil:
			if err := c.await(); err != nil {
				return err
			}
		case c.hasWork():
			if err := c.launch(); err != nil {
				return err
			}
		case c.more():
			// came since build looked
		case closed:
			return nil // what is owed to inboxes is in the store
		default:
			<-c.queue.wake
		}
	}
}

// commitEach commits one batch at a time.
func (c *committer) commitEach() {
	for b := range c.commits {
		if len(b.sealed) == 0 {
			c.results <- nil
			continue
		}
		began := time.Now()
		err := c.engine.Commit(context.Background(), b.sealed)
		b.took = time.Since(began)
		c.results <- err
	}
}

// hasWork reports whether a batch would do something.
func (c *committer) hasWork() bool {
	return !c.batch.empty() || c.cursors.pending() || c.owing.some() && !c.queue.isClosed()
}

// more reports whether a command waits.
func (c *committer) more() bool {
	if c.next == len(c.waiting) {
		clear(c.waiting)
		c.waiting, c.next = c.queue.take(c.waiting), 0
	}
	return len(c.waiting) > 0
}

// build resolves the commands that wait, as far as the batch has room.
func (c *committer) build() error {
	b := c.batch
	for !b.full() && c.more() {
		command := c.waiting[c.next]
		if c.mustWait(command) {
			return nil
		}
		if b.now == 0 {
			b.now = c.clock().UnixMilli()
		}
		if err := c.resolve(command); err != nil {
			return fmt.Errorf("resolve a command: %w", err)
		}
		c.next++
		b.commands++
		b.size += size(command)
	}
	return nil
}

// await waits until the batch that is being committed is in, or until so many commands have come that resolving them
// meanwhile is worth it.
func (c *committer) await() error {
	many := c.queue.many
	if c.batch.full() || c.next < len(c.waiting) {
		many = nil
	}
	select {
	case <-many:
		return nil
	case err := <-c.results:
		if err != nil {
			return fmt.Errorf("commit a batch: %w", err)
		}
	}
	landed := c.flying
	c.flying = nil
	c.settle(landed)
	if err := c.build(); err != nil {
		return err
	}
	if c.hasWork() {
		if err := c.launch(); err != nil {
			return err
		}
	}
	// The rest while the next is being committed.
	c.conversations.settle(landed.number)
	c.inboxes.settle(landed.number)
	c.tell(landed)
	landed.reset()
	c.spare = append(c.spare, landed)
	return nil
}

// launch has the batch committed and begins another. Nothing is being committed, so what the store itself owes, which
// comes on top of the commands, finds all that it reads in the engine.
func (c *committer) launch() error {
	b := c.batch
	if b.now == 0 {
		b.now = c.clock().UnixMilli()
	}
	if err := c.flush(); err != nil {
		return fmt.Errorf("write cursors: %w", err)
	}
	if err := c.pay(); err != nil {
		return fmt.Errorf("pay what is owed: %w", err)
	}
	c.putHeads()
	b.seal(&c.applied)
	c.queue.took(b.commands, b.size)
	c.flying = b
	c.commits <- b

	if n := len(c.spare); n > 0 {
		c.batch, c.spare = c.spare[n-1], c.spare[:n-1]
	} else {
		c.batch = newBatch()
	}
	c.batch.number = b.number + 1
	return nil
}

// mustWait reports whether a command reads members that a batch which is not in yet changes: a scan reads what is durable.
func (c *committer) mustWait(command any) bool {
	if len(c.batch.changed) == 0 && (c.flying == nil || len(c.flying.changed) == 0) {
		return false
	}
	group := ""
	switch command := command.(type) {
	case *store.Send:
		group = command.ToGroup
	case *store.Members:
		group = command.Group
	}
	_, changed := c.batch.changed[group]
	if !changed && c.flying != nil {
		_, changed = c.flying.changed[group]
	}
	return changed
}

func (c *committer) resolve(command any) error {
	switch command := command.(type) {
	case *store.Send:
		return c.send(command)
	case *store.Members:
		return c.changeMembers(command)
	case *store.Forget:
		c.forget(command)
		return nil
	case *trim:
		return c.trim(command)
	case *purge:
		return c.purge(command)
	}
	panic("commit: a command that Submit does not know")
}

// settle is called when a batch is durable, before the next is launched.
func (c *committer) settle(b *batch) {
	c.owing.settle(b.number)
	c.cursors.done()
	for _, key := range b.forgets {
		c.cursors.forgotten(key)
	}
}

// tell says what a durable batch did: first to the sink, last to those who asked, who then find it counted.
func (c *committer) tell(b *batch) {
	if len(b.events) > 0 && c.sink != nil {
		c.sink.Committed(b.events)
	}
	if c.observe != nil {
		c.observe(Batch{Commands: b.commands, Keys: b.keys, Bytes: b.bytes, Took: b.took})
	}
	for i := range b.answers {
		b.answers[i].to.Reply(b.answers[i].answer)
	}
}

func (c *committer) answer(to store.Replier, a store.Answer) {
	c.batch.answers = append(c.batch.answers, answer{to, a})
}
