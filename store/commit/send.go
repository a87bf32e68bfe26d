package commit

import "lifeline/store"

const maxRowsAtOnce = 1000 // of a group whose message enters its inboxes at once

// separator stands between the users in a direct conversation's name.
const separator = 0x1f

// send appends a message to its conversation's log and to its members' inboxes, at once or by an obligation.
func (c *committer) send(s *store.Send) error {
	refuse := func(r store.Refusal) error {
		c.answer(s.Reply, store.Answer{Origin: s.Origin, Refusal: r})
		return nil
	}
	if r := malformed(s); r != store.None {
		return refuse(r)
	}
	c.name = appendConversation(c.name[:0], s)
	conv, err := c.conversation(c.name)
	if err != nil {
		return err
	}
	if s.ToGroup != "" && conv.value.version == 0 {
		return refuse(store.NoSuchGroup)
	}

	// Before the sender's membership: the retry of a message that is stored must not be told that it is not.
	var hash [16]byte
	hash, c.name = dedupHash(c.name, s.Sender, s.SenderDevice, s.ClientID)
	payload := payloadHash(s.Payload)
	switch first, found, err := c.firstSend(conv, &hash); {
	case err != nil:
		return err
	case found && first.payload != payload:
		return refuse(store.Conflict)
	case found:
		c.answer(s.Reply, store.Answer{Origin: s.Origin, Seq: first.seq, MessageID: first.id, Time: first.time})
		return nil
	}

	owe := s.ToGroup != "" && conv.value.mustOwe(c.atOnce)
	member, err := c.recipients(s, conv, owe)
	if err != nil {
		return err
	}
	if !member {
		return refuse(store.NotMember)
	}
	if owe && conv.value.open() >= maxOwedByConversation {
		return refuse(store.Overdue)
	}
	m := c.append(s, conv)
	c.remember(conv, &hash, dedup{seq: m.Seq, id: m.ID, time: m.Time, payload: payload})
	if owe {
		c.owe(conv, &obligation{kind: store.KindMessage, seq: m.Seq, noNotify: s.NoNotify}, s.Origin)
	} else {
		c.deliverMessage(m, s.Origin, s.NoNotify)
	}
	c.answer(s.Reply, store.Answer{Origin: s.Origin, Seq: m.Seq, MessageID: m.ID, Time: m.Time})
	return nil
}

// malformed returns the refusal that needs no look at what is stored.
func malformed(s *store.Send) store.Refusal {
	to := s.ToUser
	if to == "" {
		to = s.ToGroup
	}
	both := s.ToUser != "" && s.ToGroup != ""
	if both || !store.ValidID(to) || !store.ValidID(s.Sender) || !store.ValidID(s.SenderDevice) || !store.ValidClientID(s.ClientID) {
		return store.InvalidID
	}
	if len(s.Payload) > store.MaxPayload {
		return store.TooLarge
	}
	return store.None
}

// appendConversation appends what s.Conversation returns.
func appendConversation(dst []byte, s *store.Send) []byte {
	if s.ToGroup != "" {
		return append(dst, s.ToGroup...)
	}
	dst = append(append(dst, min(s.Sender, s.ToUser)...), separator)
	return append(dst, max(s.Sender, s.ToUser)...)
}

// firstSend finds what an earlier Send of the same client id got, in this batch or before it.
func (c *committer) firstSend(conv *head[talk], hash *[16]byte) (d dedup, found bool, err error) {
	if isNew, err := c.isNew(conv, hash); isNew || err != nil {
		return d, false, err
	}
	if d, found = c.unsettled(dedupKey{conv.name, *hash}); found {
		return d, true, nil
	}
	c.key = appendDedupKey(c.key[:0], conv.partition, conv.name, hash)
	if found, err = c.get(c.key); found && err == nil {
		err = d.parse(c.value)
	}
	return d, found && !d.expired(c.batch.now), keyError(c.key, err)
}

// unsettled finds a dedup row of a batch that is not in yet.
func (c *committer) unsettled(key dedupKey) (d dedup, found bool) {
	d, found = c.batch.dedup[key]
	if !found && c.flying != nil {
		d, found = c.flying.dedup[key]
	}
	return d, found
}

// remember writes a dedup row, and when the day is another than the last row's, the key that says so.
func (c *committer) remember(conv *head[talk], hash *[16]byte, d dedup) {
	b, p := c.batch, conv.partition
	k := len(b.arena)
	b.arena = appendDedupKey(b.arena, p, conv.name, hash)
	v := len(b.arena)
	b.arena = d.append(b.arena)
	b.set(p, k, v)
	b.dedup[dedupKey{conv.name, *hash}] = d
	c.know(conv, hash)
	if day := dayOf(d.time); uint64(day) != conv.value.day {
		conv.value.day = uint64(day)
		k := len(b.arena)
		b.arena = appendExpiryKey(b.arena, p, day, conv.name)
		v := len(b.arena)
		b.arena = append(b.arena, valueVersion)
		b.set(p, k, v)
	}
}

// recipients collects in c.members whose inboxes the message goes into, in key order, and reports whether the sender is
// a member. When the message will be owed only the sender is looked for.
func (c *committer) recipients(s *store.Send, conv *head[talk], owe bool) (member bool, err error) {
	switch {
	case s.ToGroup == "":
		return true, c.peers(s)
	case owe:
		row, _, err := c.row(conv, s.Sender)
		return row.present(), err
	}
	return c.present(conv, s.Sender)
}

// peers collects the two users of a direct conversation, or the one.
func (c *committer) peers(s *store.Send) error {
	first, second := min(s.Sender, s.ToUser), max(s.Sender, s.ToUser)
	c.members = c.members[:0]
	for _, user := range [...]string{first, second} {
		c.name = append(c.name[:0], user...)
		in, err := c.inbox(c.name)
		if err != nil {
			return err
		}
		c.members = append(c.members, in)
		if first == second {
			break
		}
	}
	return nil
}

// append gives the message the conversation's next Seq.
func (c *committer) append(s *store.Send, conv *head[talk]) *store.Message {
	b := c.batch
	conv.value.seq++
	m := b.message()
	*m = store.Message{
		Conversation: conv.name, Seq: conv.value.seq, ID: c.newID(), Sender: s.Sender, SenderDevice: s.SenderDevice,
		ClientID: s.ClientID, Time: b.now, Payload: s.Payload,
	}
	k := len(b.arena)
	b.arena = appendMessageKey(b.arena, conv.partition, conv.name, m.Seq)
	v := len(b.arena)
	b.arena = appendMessage(b.arena, m)
	b.set(conv.partition, k, v)
	changed(b, conv)
	return m
}

// deliverMessage puts a message into the inboxes of c.members.
func (c *committer) deliverMessage(m *store.Message, from store.Origin, noNotify bool) {
	e := entry{kind: store.KindMessage, conversation: m.Conversation, seq: m.Seq, time: c.batch.now}
	to := c.batch.room(len(c.members))
	for _, in := range c.members {
		to = append(to, c.deliver(in, &e))
	}
	c.batch.events = append(c.batch.events, store.Event{
		Kind: store.KindMessage, Origin: from, Message: m, NoNotify: noNotify, To: to,
	})
}
