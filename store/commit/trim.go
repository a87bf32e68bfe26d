package commit

import (
	"lifeline/store"
)

// maxTrim is how many keys one step deletes.
const maxTrim = 500

// trim deletes the oldest messages of a conversation, or entries of a user's inbox, up to a number. The head key with
// the new trimmed-through is in the batch that deletes.
type trim struct {
	conversation string // exactly one of the two is set
	user         string
	through      uint64
	more         bool // set by the step
	done         chan struct{}
}

// Reply ends the wait for a step.
func (t *trim) Reply(store.Answer) { t.done <- struct{}{} }

func (c *committer) trim(t *trim) error {
	c.answer(t, store.Answer{})
	if t.user != "" {
		return c.trimInbox(t)
	}
	c.name = append(c.name[:0], t.conversation...)
	conv, err := c.conversation(c.name)
	if err != nil {
		return err
	}
	b, p := c.batch, conv.partition
	to := t.step(conv.value.trimmed, conv.value.seq)
	for ; conv.value.trimmed < to; conv.value.trimmed++ {
		changed(b, conv)
		k := len(b.arena)
		b.arena = appendMessageKey(b.arena, p, conv.name, conv.value.trimmed+1)
		b.delete(p, k)
	}
	return nil
}

func (c *committer) trimInbox(t *trim) error {
	c.name = append(c.name[:0], t.user...)
	in, err := c.inbox(c.name)
	if err != nil {
		return err
	}
	b, p := c.batch, in.partition
	to := t.step(in.value.trimmed, in.value.pos)
	for ; in.value.trimmed < to; in.value.trimmed++ {
		changed(b, in)
		k := len(b.arena)
		b.arena = appendEntryKey(b.arena, p, in.name, in.value.trimmed+1)
		b.delete(p, k)
	}
	return nil
}

// step returns how far this step goes and notes whether another must follow.
func (t *trim) step(trimmed, head uint64) uint64 {
	through := min(t.through, head)
	to := min(through, trimmed+maxTrim)
	t.more = to < through
	return to
}
