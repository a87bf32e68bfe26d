package commit

import (
	"cmp"
	"slices"

	"lifeline/store"
)

// change is one user of a Members command: the row as it is, and what is asked.
type change struct {
	user   string
	exists bool
	before bool // is a member
	after  bool // shall be one
	spans  spans
}

// changeMembers changes a group's rows and tells those concerned.
func (c *committer) changeMembers(m *store.Members) error {
	refuse := func(r store.Refusal) error {
		c.answer(m.Reply, store.Answer{Origin: m.Origin, Refusal: r})
		return nil
	}
	invalid := func(id string) bool { return !store.ValidID(id) }
	if invalid(m.Group) || slices.ContainsFunc(m.Add, invalid) || slices.ContainsFunc(m.Remove, invalid) {
		return refuse(store.InvalidID)
	}
	c.name = append(c.name[:0], m.Group...)
	conv, err := c.conversation(c.name)
	if err != nil {
		return err
	}
	if m.Version <= conv.value.version {
		return refuse(store.StaleVersion)
	}
	changes, err := c.changes(m, conv)
	if err != nil {
		return err
	}
	joining, leaving, rows := divide(changes)
	total := conv.value.members + uint64(len(joining)) - uint64(len(leaving))
	if total > store.MaxMembers {
		return refuse(store.TooManyMembers)
	}
	if conv.value.open() >= maxOwedByConversation {
		return refuse(store.Overdue)
	}
	conv.value.version, conv.value.members = m.Version, total
	conv.value.rows += rows
	changed(c.batch, conv)
	c.batch.changed[conv.name] = struct{}{}
	if err := c.announce(m, conv, joining, true); err != nil {
		return err
	}
	if err := c.announce(m, conv, leaving, false); err != nil {
		return err
	}
	c.answer(m.Reply, store.Answer{Origin: m.Origin})
	return nil
}

// changes returns the users that the command names with their rows, in byte order, each once. Adding wins.
func (c *committer) changes(m *store.Members, conv *head[talk]) ([]change, error) {
	all := make([]change, 0, len(m.Add)+len(m.Remove))
	for _, user := range m.Add {
		all = append(all, change{user: user, after: true})
	}
	for _, user := range m.Remove {
		all = append(all, change{user: user})
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.user, b.user) })
	all = slices.CompactFunc(all, func(a, b change) bool { return a.user == b.user })
	for i := range all {
		row, exists, err := c.row(conv, all[i].user)
		if err != nil {
			return nil, err
		}
		all[i].spans, all[i].exists, all[i].before = slices.Clone(row), exists, row.present()
	}
	return all, nil
}

// divide returns who joins, who leaves, and how many of them have no row yet.
func divide(changes []change) (joining, leaving []change, rows uint64) {
	for _, ch := range changes {
		switch {
		case ch.after && !ch.before:
			joining = append(joining, ch)
			if !ch.exists {
				rows++
			}
		case ch.before && !ch.after:
			leaving = append(leaving, ch)
		}
	}
	return joining, leaving, rows
}

// announce writes the changed rows and puts what changed into the users' inboxes, or owes it.
func (c *committer) announce(m *store.Members, conv *head[talk], changes []change, member bool) error {
	if len(changes) == 0 {
		return nil
	}
	seq := conv.value.seq
	if member {
		seq++
	}
	users := make([]string, len(changes))
	for i, ch := range changes {
		users[i] = ch.user
		if member {
			c.putRow(conv, ch.user, ch.spans.join(conv.value.seq))
		} else {
			c.putRow(conv, ch.user, ch.spans.leave(conv.value.seq))
		}
	}
	e := entry{kind: store.KindConversation, conversation: conv.name, seq: seq, member: member, time: c.batch.now}
	if conv.value.open() == 0 && len(users) <= c.atOnce {
		return c.deliverMembership(&e, users, m.Origin)
	}
	for part := range slices.Chunk(users, c.chunkSize) {
		c.owe(conv, &obligation{kind: store.KindConversation, seq: seq, member: member, users: part}, m.Origin)
	}
	return nil
}

// deliverMembership puts a change into the inboxes of users.
func (c *committer) deliverMembership(e *entry, users []string, from store.Origin) error {
	to := c.batch.room(len(users))
	for _, user := range users {
		c.name = append(c.name[:0], user...)
		in, err := c.inbox(c.name)
		if err != nil {
			return err
		}
		to = append(to, c.deliver(in, e))
	}
	c.batch.events = append(c.batch.events, store.Event{
		Kind: e.kind, Origin: from, Membership: e.membership(), To: to,
	})
	return nil
}

// row reads a user's row of a group; it is valid until the next row is read.
func (c *committer) row(conv *head[talk], user string) (row spans, exists bool, err error) {
	c.key = appendMemberKey(c.key[:0], conv.partition, conv.name, user)
	exists, err = c.get(c.key)
	if exists && err == nil {
		c.spans, err = parseSpans(c.spans[:0], c.value)
		row = c.spans
	}
	return row, exists, keyError(c.key, err)
}

func (c *committer) putRow(conv *head[talk], user string, row spans) {
	b := c.batch
	k := len(b.arena)
	b.arena = appendMemberKey(b.arena, conv.partition, conv.name, user)
	v := len(b.arena)
	b.arena = row.append(b.arena)
	b.set(conv.partition, k, v)
}

// present collects a group's members in c.members, in key order, and reports whether the sender is one.
func (c *committer) present(conv *head[talk], sender string) (member bool, err error) {
	c.members = c.members[:0]
	err = c.rows(conv, "", func(user []byte, row spans) (bool, error) {
		if !row.present() {
			return true, nil
		}
		in, err := c.inbox(user)
		if err != nil {
			return false, err
		}
		member = member || in.name == sender
		c.members = append(c.members, in)
		return true, nil
	})
	return member, err
}

// rows calls each for a group's rows behind a user's, in key order, until it returns false.
func (c *committer) rows(conv *head[talk], after string, each func(user []byte, row spans) (bool, error)) error {
	from := appendOwned(nil, conv.partition, spaceConversation, conv.name, tableMember)
	prefix := len(from)
	if after != "" {
		from = append(append(from, after...), 0)
	}
	to := appendOwned(nil, conv.partition, spaceConversation, conv.name, tableMember+1)
	var failed error
	err := c.engine.Scan(from, to, func(key, value []byte) bool {
		c.spans, failed = parseSpans(c.spans[:0], value)
		if failed != nil {
			failed = keyError(key, failed)
			return false
		}
		more := false
		more, failed = each(key[prefix:], c.spans)
		return more && failed == nil
	})
	if err != nil {
		return err
	}
	return failed
}
