package commit

import "lifeline/store"

// forget deletes a device's cursor. What was acknowledged before the command is forgotten with it; what came later waits
// in cursors until the command is durable.
func (c *committer) forget(f *store.Forget) {
	c.batch.forgets = append(c.batch.forgets, device{f.User, f.Device})
	if !store.ValidID(f.User) || !store.ValidID(f.Device) {
		c.answer(f.Reply, store.Answer{Origin: f.Origin, Refusal: store.InvalidID})
		return
	}
	p := partitionOf(f.User)
	k := len(c.batch.arena)
	c.batch.arena = appendCursorKey(c.batch.arena, p, f.User, f.Device)
	c.batch.delete(p, k)
	c.answer(f.Reply, store.Answer{Origin: f.Origin})
}

// flush writes the cursors that are due, but of no device that a Forget in the batch is about: cursors holds those back.
func (c *committer) flush() error {
	for key, p := range c.cursors.take() {
		if err := c.putCursor(key, p); err != nil {
			return err
		}
	}
	return nil
}

func (c *committer) putCursor(key device, p progress) error {
	partition := partitionOf(key.user)
	c.key = appendCursorKey(c.key[:0], partition, key.user, key.device)
	exists, err := c.get(c.key)
	var stored cursor
	if exists && err == nil {
		err = stored.parse(c.value)
	}
	if err != nil {
		return keyError(c.key, err)
	}
	next := stored
	if p.hasPos {
		next.pos, next.platform = max(stored.pos, p.pos), p.platform
	}
	if p.left {
		next.seen = p.seen
	}
	if !exists && !p.hasPos || exists && next == stored {
		return nil
	}
	b := c.batch
	k := len(b.arena)
	b.arena = append(b.arena, c.key...)
	v := len(b.arena)
	b.arena = next.append(b.arena)
	b.set(partition, k, v)
	return nil
}
