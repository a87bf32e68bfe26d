package commit

import (
	"sync/atomic"

	"lifeline/store"
)

// Limits of what may be owed. Above the first a conversation's commands are answered Overdue, above the second those of
// every group are refused with Busy before they are queued.
const (
	maxOwedByConversation = 1000
	maxOwed               = 100_000
)

// Sizes of what is paid. A batch goes on with chunks until it has paid so many entries.
const (
	maxChunkRows = 4000 // looked at for one chunk
	paidBusy     = 500  // per batch while commands wait
	paidIdle     = 2000
)

// owing is the round of conversations with open obligations: each pays one chunk, then the next. Owned by the committer,
// but for total.
type owing struct {
	round []string
	debts map[string]*debt
	fresh [2][]*debt   // by the batch that is built and by the one that is being committed
	total atomic.Int64 // open obligations of all conversations
}

// debt is what is known of one conversation's open obligations without reading them.
type debt struct {
	open    int
	fresh   int            // of these, the last ones that are not durable yet
	origins []store.Origin // of the last ones; the others are from before the store was opened
}

func newOwing() *owing { return &owing{debts: map[string]*debt{}} }

// add notes an obligation behind the conversation's others.
func (o *owing) add(conversation string) *debt {
	d := o.debts[conversation]
	if d == nil {
		d = &debt{}
		o.debts[conversation] = d
		o.round = append(o.round, conversation)
	}
	d.open++
	o.total.Add(1)
	return d
}

// paid notes that a conversation's first obligation is paid.
func (o *owing) paid(conversation string) {
	d := o.debts[conversation]
	if d.open--; len(d.origins) > d.open {
		d.origins = d.origins[1:]
	}
	o.total.Add(-1)
}

// turn puts the first n of the round at its end, without those that owe nothing any more.
func (o *owing) turn(n int) {
	first := o.round[:n]
	o.round = o.round[n:]
	for _, conversation := range first {
		if o.debts[conversation].open > 0 {
			o.round = append(o.round, conversation)
		} else {
			delete(o.debts, conversation)
		}
	}
}

// settle is called when a batch is in.
func (o *owing) settle(batch uint64) {
	fresh := o.fresh[batch%2]
	for i, d := range fresh {
		d.fresh--
		fresh[i] = nil
	}
	o.fresh[batch%2] = fresh[:0]
}

// some reports whether a durable obligation is open, or will be when the batches are in.
func (o *owing) some() bool { return len(o.round) > 0 }

// origin is of the command that caused the first obligation.
func (d *debt) origin() store.Origin {
	if len(d.origins) == d.open {
		return d.origins[0]
	}
	return store.Origin{}
}

// owe puts an obligation behind the conversation's others.
func (c *committer) owe(conv *head[talk], o *obligation, from store.Origin) {
	conv.value.owed++
	changed(c.batch, conv)
	c.putObligation(conv, conv.value.owed, o)
	d := c.owing.add(conv.name)
	d.origins = append(d.origins, from)
	d.fresh++
	fresh := &c.owing.fresh[c.batch.number%2]
	*fresh = append(*fresh, d)
}

func (c *committer) putObligation(conv *head[talk], index uint64, o *obligation) {
	b := c.batch
	k := len(b.arena)
	b.arena = appendObligationKey(b.arena, conv.partition, conv.name, index)
	v := len(b.arena)
	b.arena = o.append(b.arena)
	b.set(conv.partition, k, v)
}

// pay puts chunks into the batch, one of a conversation.
func (c *committer) pay() error {
	most := paidIdle
	if c.batch.commands > 0 || c.more() {
		most = paidBusy
	}
	n := 0
	for paid := 0; n < len(c.owing.round) && paid < most; n++ {
		d := c.owing.debts[c.owing.round[n]]
		if d.open == d.fresh {
			continue
		}
		c.name = append(c.name[:0], c.owing.round[n]...)
		conv, err := c.conversation(c.name)
		if err != nil {
			return err
		}
		entries, err := c.chunk(conv, d)
		if err != nil {
			return err
		}
		paid += entries
	}
	c.owing.turn(n)
	return nil
}

// chunk pays the next entries of the conversation's first obligation, and returns how many.
func (c *committer) chunk(conv *head[talk], d *debt) (entries int, err error) {
	index := conv.value.done + 1
	o, err := c.obligation(conv, index)
	if err != nil {
		return 0, err
	}
	whole := true
	if o.kind == store.KindConversation {
		e := entry{kind: o.kind, conversation: conv.name, seq: o.seq, member: o.member, time: c.batch.now}
		entries, err = len(o.users), c.deliverMembership(&e, o.users, d.origin())
	} else {
		entries, whole, err = c.messageChunk(conv, o, d.origin())
	}
	switch {
	case err != nil:
		return 0, err
	case !whole:
		c.putObligation(conv, index, o)
		return entries, nil
	}
	conv.value.done = index
	changed(c.batch, conv)
	c.owing.paid(conv.name)
	k := len(c.batch.arena)
	c.batch.arena = appendObligationKey(c.batch.arena, conv.partition, conv.name, index)
	c.batch.delete(conv.partition, k)
	return entries, nil
}

func (c *committer) obligation(conv *head[talk], index uint64) (*obligation, error) {
	c.key = appendObligationKey(c.key[:0], conv.partition, conv.name, index)
	found, err := c.get(c.key)
	if err == nil && !found {
		err = errMissing
	}
	var o obligation
	if err == nil {
		err = o.parse(c.value)
	}
	return &o, keyError(c.key, err)
}

// messageChunk puts the message, as it is now, into the inboxes of the next members that may see it; the sender is
// always the first. whole says that none is left.
func (c *committer) messageChunk(conv *head[talk], o *obligation, from store.Origin) (entries int, whole bool, err error) {
	if o.seq <= conv.value.trimmed {
		return 0, true, nil // nobody would see it
	}
	m, err := c.message(conv, o.seq)
	if err != nil {
		return 0, false, err
	}
	c.members = c.members[:0]
	if !o.began {
		c.name = append(c.name[:0], m.Sender...)
		sender, err := c.inbox(c.name)
		if err != nil {
			return 0, false, err
		}
		o.began = true
		c.members = append(c.members, sender)
	}
	whole = true
	looked := 0
	err = c.rows(conv, o.last, func(user []byte, row spans) (bool, error) {
		if len(c.members) == c.chunkSize || looked == maxChunkRows {
			whole = false
			return false, nil
		}
		looked++
		o.last = string(user)
		if !row.contains(o.seq) || o.last == m.Sender {
			return true, nil
		}
		in, err := c.inbox(user)
		c.members = append(c.members, in)
		return true, err
	})
	if err != nil {
		return 0, false, err
	}
	if len(c.members) > 0 {
		c.deliverMessage(m, from, o.noNotify)
	}
	return len(c.members), whole, nil
}

// message reads a message that is not trimmed.
func (c *committer) message(conv *head[talk], seq uint64) (*store.Message, error) {
	key := appendMessageKey(nil, conv.partition, conv.name, seq)
	value, found, err := c.engine.Get(nil, key)
	if err == nil && !found {
		err = errMissing
	}
	m := &store.Message{Conversation: conv.name, Seq: seq}
	if err == nil {
		err = parseMessage(m, value, m)
	}
	return m, keyError(key, err)
}

// resume finds the conversations that owe something when the store is opened. It reads only the obligations' keys.
func (c *committer) resume() error {
	for p := range uint8(store.Partitions) {
		var malformed error
		err := c.engine.Scan([]byte{p, spaceObligation}, []byte{p, spaceObligation + 1}, func(key, _ []byte) bool {
			id, _, ok := splitOwner(key)
			if !ok {
				malformed = keyError(key, errMalformed)
				return false
			}
			c.owing.add(string(id))
			return true
		})
		if err == nil {
			err = malformed
		}
		if err != nil {
			return err
		}
	}
	return nil
}
