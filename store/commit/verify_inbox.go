package commit

import "lifeline/store"

// seen is what one inbox tells of one conversation.
type seen struct {
	visible spans
	last    uint64 // Seq of the last message entry
}

func (v *verifier) cursor(dev string, value []byte) error {
	v.census.Cursors++
	var c cursor
	if err := c.parse(value); err != nil {
		return err
	}
	if c.pos > v.inbox.pos {
		v.fault("the cursor of %q, device %q, is at %d, ahead of the inbox, at %d", v.owner, dev, c.pos, v.inbox.pos)
	}
	return nil
}

func (v *verifier) entry(pos uint64, value []byte) error {
	v.census.Entries++
	if want := max(v.last, v.inbox.trimmed) + 1; pos != want {
		v.fault("%q has entry %d, want %d", v.owner, pos, want)
	}
	v.last = pos
	var e entry
	if err := e.parse(value); err != nil {
		return err
	}
	l, err := v.read(e.conversation)
	switch {
	case err != nil:
		return err
	case !l.exists:
		v.fault("entry %d of %q points to %q, which is not there", pos, v.owner, e.conversation)
	case e.kind == store.KindMessage:
		return v.pointer(pos, &e, l)
	case l.version > 0 && e.seq <= l.seq+1:
		v.told[e.conversation] = e.member
	default:
		v.fault("entry %d of %q is %+v, and the head of the conversation is %d", pos, v.owner, e, l.seq)
	}
	return nil
}

// pointer judges a message entry: the user may see the message, and it is the next after the one before. What was
// trimmed before it was paid may be left out.
func (v *verifier) pointer(pos uint64, e *entry, l *ledger) error {
	conv := v.seen[e.conversation]
	if conv == nil {
		visible, err := v.visible(v.owner, e.conversation)
		if err != nil {
			return err
		}
		conv = &seen{visible: visible}
		if v.inbox.trimmed > 0 {
			conv.last = e.seq - 1
		}
		v.seen[e.conversation] = conv
	}
	next := conv.visible.after(conv.last)
	if next <= l.trimmed && e.seq > l.trimmed {
		next = conv.visible.after(l.trimmed)
	}
	if e.seq > l.seq || !conv.visible.contains(e.seq) || e.seq < next || e.seq > next && e.seq > l.trimmed {
		v.fault("entry %d of %q is message %d of %q, want %d of %d", pos, v.owner, e.seq, e.conversation, next, l.seq)
	}
	conv.last = e.seq
	return nil
}

// endInbox compares an inbox with its head and with what its conversations must have given it.
func (v *verifier) endInbox() error {
	if max(v.last, v.inbox.trimmed) != v.inbox.pos {
		v.fault("%q ends with entry %d, its head is %d", v.owner, v.last, v.inbox.pos)
	}
	for name, conv := range v.seen {
		l, err := v.read(name)
		if err != nil {
			return err
		}
		due := l.due(v.owner, conv.visible)
		if due <= l.trimmed {
			continue
		}
		if conv.last != due {
			v.fault("%q has %q up to message %d, want %d", v.owner, name, conv.last, due)
		}
		if v.inbox.trimmed == 0 {
			v.had++
		}
	}
	return v.endTold()
}

// endTold compares what the inbox says at last of the user's memberships with the members' rows.
func (v *verifier) endTold() error {
	for name, joined := range v.told {
		l, err := v.read(name)
		if err != nil {
			return err
		}
		row, err := v.visible(v.owner, name)
		if err != nil {
			return err
		}
		if row.present() != joined && !l.owesChange(v.owner) {
			v.fault("%q was told of joining %q: %v, and sees %v of it", v.owner, name, joined, row)
		}
	}
	return nil
}

// visible returns what a user may see of a conversation.
func (v *verifier) visible(user, name string) (row spans, err error) {
	if a, b, direct := store.Peers(name); direct {
		if user == a || user == b {
			row = spans{{1, forever}}
		}
		return row, nil
	}
	_, err = v.get(appendMemberKey(nil, partitionOf(name), name, user), func(value []byte) (err error) {
		row, err = parseSpans(nil, value)
		return err
	})
	return row, err
}
