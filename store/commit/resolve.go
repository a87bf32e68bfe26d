package commit

import "lifeline/store"

// conversation returns the head of a conversation; one that does not exist has the zero value.
func (c *committer) conversation(name []byte) (*head[talk], error) {
	if h := c.conversations.get(name, c.batch.number); h != nil {
		return h, nil
	}
	h := c.conversations.add(name, talk{}, c.batch.number)
	c.key = appendConversationKey(c.key[:0], h.partition, h.name)
	found, err := c.get(c.key)
	if found && err == nil {
		err = h.value.parse(c.value)
	}
	return h, keyError(c.key, err)
}

// inbox returns the head of a user's inbox; one that does not exist has the zero value.
func (c *committer) inbox(user []byte) (*head[inbox], error) {
	if h := c.inboxes.get(user, c.batch.number); h != nil {
		return h, nil
	}
	h := c.inboxes.add(user, inbox{}, c.batch.number)
	c.key = appendInboxKey(c.key[:0], h.partition, h.name)
	found, err := c.get(c.key)
	if found && err == nil {
		err = h.value.parse(c.value)
	}
	return h, keyError(c.key, err)
}

// get reads what is durable into c.value.
func (c *committer) get(key []byte) (found bool, err error) {
	c.value, found, err = c.engine.Get(c.value[:0], key)
	return found, err
}

// changed has a head written with the batch. Its place is where it changed first: behind the key that it lies next to.
func changed[T any](b *batch, h *head[T]) {
	if h.changed != b.number {
		h.changed = b.number
		h.place = b.reserve(h.partition)
	}
}

// putHeads writes every head that the batch changed, once.
func (c *committer) putHeads() {
	b := c.batch
	for _, h := range c.conversations.touched[b.number%2] {
		if h.changed == b.number {
			k := len(b.arena)
			b.arena = appendConversationKey(b.arena, h.partition, h.name)
			v := len(b.arena)
			b.arena = h.value.append(b.arena)
			b.fill(h.partition, h.place, k, v)
		}
	}
	for _, h := range c.inboxes.touched[b.number%2] {
		if h.changed == b.number {
			k := len(b.arena)
			b.arena = appendInboxKey(b.arena, h.partition, h.name)
			v := len(b.arena)
			b.arena = h.value.append(b.arena)
			b.fill(h.partition, h.place, k, v)
		}
	}
}

// deliver appends an entry to a user's inbox.
func (c *committer) deliver(to *head[inbox], e *entry) store.Recipient {
	b := c.batch
	to.value.pos++
	k := len(b.arena)
	b.arena = appendEntryKey(b.arena, to.partition, to.name, to.value.pos)
	v := len(b.arena)
	b.arena = e.append(b.arena)
	b.set(to.partition, k, v)
	changed(b, to)
	return store.Recipient{User: to.name, Pos: to.value.pos}
}

func (c *committer) newID() (id store.MessageID) {
	_, _ = c.ids.Read(id[:]) // never fails
	return id
}

// readApplied reads the applied index of each partition.
func (c *committer) readApplied() error {
	for p := range uint8(store.Partitions) {
		c.key = appendAppliedKey(c.key[:0], p)
		found, err := c.get(c.key)
		if found && err == nil {
			f := parse(c.value)
			c.applied[p] = f.number()
			err = f.end()
		}
		if err != nil {
			return keyError(c.key, err)
		}
	}
	return nil
}
