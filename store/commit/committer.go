package commit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"lifeline/store"
)

// committer builds batches and commits them. Everything here belongs to its one goroutine.
type committer struct {
	// Set at construction.
	engine  store.Engine
	sink    store.Sink
	clock   func() time.Time
	observe func(Batch)
	queue   *queue
	cursors *cursors
	owing   *owing

	conversations *heads[conversation]
	inboxes       *heads[inbox]
	batch         *batch
	waiting       []any // taken from the queue; those before next are in a batch
	next          int
	forgets       []device // in the batch
	ids           *rand.ChaCha8

	// Scratch, valid until the next use.
	key, value, name []byte
	members          []*head[inbox]
	spans            spans
}

// run commits until the queue is closed and everything in it is answered. An error means that nothing is known about
// the last batch: the caller must give no answer any more.
func (c *committer) run() error {
	for c.wait() {
		if err := c.build(); err != nil {
			return fmt.Errorf("resolve a batch: %w", err)
		}
		if err := c.commit(); err != nil {
			return err
		}
	}
	return nil
}

// wait returns when there is something to do; false when there never will be.
func (c *committer) wait() bool {
	for {
		if c.next == len(c.waiting) {
			clear(c.waiting)
			c.waiting, c.next = c.queue.take(c.waiting), 0
		}
		switch {
		case len(c.waiting) > 0 || c.cursors.pending():
			return true
		case c.queue.isClosed():
			return false // what is owed to inboxes is in the store
		case len(c.owing.round) > 0:
			return true
		}
		<-c.queue.wake
	}
}

// build resolves what there is into a batch. What the store owes comes first, so that commands cannot starve it.
func (c *committer) build() error {
	c.batch.reset(c.clock())
	if err := c.flush(); err != nil {
		return err
	}
	if err := c.pay(); err != nil {
		return err
	}
	commands, bytes := 0, 0
	for !c.batch.full(commands) {
		if c.next == len(c.waiting) && !c.refill() {
			break
		}
		command := c.waiting[c.next]
		if c.mustWait(command) {
			break
		}
		if err := c.resolve(command); err != nil {
			return err
		}
		c.next++
		commands++
		bytes += size(command)
	}
	c.queue.took(commands, bytes)
	c.putHeads()
	c.batch.commands = commands
	return nil
}

func (c *committer) refill() bool {
	clear(c.waiting)
	c.waiting, c.next = c.queue.take(c.waiting), 0
	return len(c.waiting) > 0
}

// mustWait reports whether a command reads members that this batch changes: a scan does not see the batch.
func (c *committer) mustWait(command any) bool {
	if len(c.batch.changed) == 0 {
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

// putHeads writes every head that the batch changed, once.
func (c *committer) putHeads() {
	b := c.batch
	for _, h := range c.conversations.touched {
		if h.dirty {
			k := len(b.arena)
			b.arena = appendConversationKey(b.arena, h.partition, h.name)
			v := len(b.arena)
			b.arena = h.value.append(b.arena)
			b.set(h.partition, k, v)
		}
	}
	for _, h := range c.inboxes.touched {
		if h.dirty {
			k := len(b.arena)
			b.arena = appendInboxKey(b.arena, h.partition, h.name)
			v := len(b.arena)
			b.arena = h.value.append(b.arena)
			b.set(h.partition, k, v)
		}
	}
}

// commit makes the batch durable, then says so: first to the sink, then to those who asked.
func (c *committer) commit() error {
	b := c.batch
	began := time.Now()
	if ops := b.seal(); len(ops) > 0 {
		if err := c.engine.Commit(context.Background(), ops); err != nil {
			return fmt.Errorf("commit a batch: %w", err)
		}
	}
	took := time.Since(began)
	b.committed()
	c.conversations.settle()
	c.inboxes.settle()
	c.cursors.done()
	for _, key := range c.forgets {
		c.cursors.forgotten(key)
	}
	c.forgets = c.forgets[:0]

	if len(b.events) > 0 && c.sink != nil {
		c.sink.Committed(b.events)
	}
	for i := range b.answers {
		b.answers[i].to.Reply(b.answers[i].answer)
	}
	if c.observe != nil {
		c.observe(Batch{Commands: b.commands, Keys: b.keys, Bytes: b.bytes, Took: took})
	}
	return nil
}

func (c *committer) answer(to store.Replier, a store.Answer) {
	c.batch.answers = append(c.batch.answers, answer{to, a})
}

// conversation returns the head of a conversation; one that does not exist has the zero value.
func (c *committer) conversation(name []byte) (*head[conversation], error) {
	if h := c.conversations.get(name); h != nil {
		return h, nil
	}
	h := c.conversations.add(name, conversation{})
	c.key = appendConversationKey(c.key[:0], h.partition, h.name)
	found, err := c.get(c.key)
	if found && err == nil {
		err = h.value.parse(c.value)
	}
	return h, keyError(c.key, err)
}

// inbox returns the head of a user's inbox; one that does not exist has the zero value.
func (c *committer) inbox(user []byte) (*head[inbox], error) {
	if h := c.inboxes.get(user); h != nil {
		return h, nil
	}
	h := c.inboxes.add(user, inbox{})
	c.key = appendInboxKey(c.key[:0], h.partition, h.name)
	found, err := c.get(c.key)
	if found && err == nil {
		err = h.value.parse(c.value)
	}
	return h, keyError(c.key, err)
}

// get reads a value, as of the last batch, into c.value.
func (c *committer) get(key []byte) (found bool, err error) {
	c.value, found, err = c.engine.Get(c.value[:0], key)
	return found, err
}

// deliver appends an entry to a user's inbox.
func (c *committer) deliver(to *head[inbox], e *entry) store.Recipient {
	b := c.batch
	to.value.pos++
	to.dirty = true
	k := len(b.arena)
	b.arena = appendEntryKey(b.arena, to.partition, to.name, to.value.pos)
	v := len(b.arena)
	b.arena = e.append(b.arena)
	b.set(to.partition, k, v)
	return store.Recipient{User: to.name, Pos: to.value.pos}
}

func (c *committer) newID() (id store.MessageID) {
	c.ids.Read(id[:])
	return id
}

// readApplied reads the applied index of each partition.
func (c *committer) readApplied() error {
	for p := range uint8(store.Partitions) {
		c.key = appendAppliedKey(c.key[:0], p)
		found, err := c.get(c.key)
		if found && err == nil {
			f := parse(c.value)
			c.batch.applied[p] = f.number()
			err = f.end()
		}
		if err != nil {
			return keyError(c.key, err)
		}
	}
	return nil
}
