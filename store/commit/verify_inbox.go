package commit

import "lifeline/store"

// maxLedgers bounds the cache of what is known of conversations.
const maxLedgers = 10_000

// ledger is a conversation's head and what it owes.
type ledger struct {
	conversation
	exists bool
	debts  []obligation
	sender []string // of the debts' messages
}

// ledger reads what is known of a conversation; exists is false when that is nothing.
func (v *verifier) ledger(name string) (*ledger, error) {
	if l := v.known[name]; l != nil {
		return l, nil
	}
	if len(v.known) >= maxLedgers {
		clear(v.known)
	}
	l := &ledger{}
	v.known[name] = l
	p := partitionOf(name)
	var err error
	if l.exists, err = v.read(appendConversationKey(nil, p, name), l.conversation.parse); err != nil {
		return nil, err
	}
	for index := l.done + 1; index <= l.owed; index++ {
		var o obligation
		found, err := v.read(appendObligationKey(nil, p, name, index), o.parse)
		if err != nil {
			return nil, err
		}
		if !found {
			v.fault("%q lacks its obligation %d", name, index)
			continue
		}
		var m store.Message
		if _, err := v.read(appendMessageKey(nil, p, name, o.seq), func(value []byte) error { return parseMessage(&m, value) }); err != nil {
			return nil, err
		}
		l.debts, l.sender = append(l.debts, o), append(l.sender, m.Sender)
	}
	return l, nil
}

// due returns the last Seq that a user's inbox must have, as far as the user sees it.
func (l *ledger) due(user string, visible spans) uint64 {
	due := l.seq
	for i, o := range l.debts {
		if o.kind == store.KindMessage && user > o.last && !(o.began && user == l.sender[i]) {
			due = o.seq - 1
			break
		}
	}
	return visible.before(due + 1)
}

// after returns the first visible Seq above one, 0 if there is none.
func (s spans) after(seq uint64) uint64 {
	for _, span := range s {
		if first := max(span.first, seq+1); first <= span.last {
			return first
		}
	}
	return 0
}

// before returns the last visible Seq below one, 0 if there is none.
func (s spans) before(seq uint64) (last uint64) {
	for _, span := range s {
		if span.first < seq {
			last = min(span.last, seq-1)
		}
	}
	return last
}

func (v *verifier) verifyConversation(value []byte) error {
	v.census.Conversations++
	var c conversation
	if err := c.parse(value); err != nil {
		return err
	}
	p := partitionOf(v.owner)
	if c.seq > c.trimmed {
		if err := v.mustExist(appendMessageKey(nil, p, v.owner, c.seq)); err != nil {
			return err
		}
	}
	if c.open() > 0 {
		if err := v.mustExist(appendObligationKey(nil, p, v.owner, c.owed)); err != nil {
			return err
		}
	}
	a, b, direct := store.Peers(v.owner)
	switch {
	case direct && (c.version != 0 || c.rows != 0 || c.owed != 0):
		v.fault("%q is a direct conversation and has the head of a group: %+v", v.owner, c)
	case !direct && c.version == 0:
		v.fault("%q has a head and no members were ever set", v.owner)
	case direct:
		if err := v.countSight(v.owner, a, spans{{1, forever}}); err != nil || a == b {
			return err
		}
		return v.countSight(v.owner, b, spans{{1, forever}})
	}
	return nil
}

func (v *verifier) verifyMember(user string, value []byte) error {
	v.census.Members++
	row, err := parseSpans(nil, value)
	if err != nil {
		return err
	}
	l, err := v.ledger(v.owner)
	if err != nil {
		return err
	}
	if n := len(row); n > 0 && (row[n-1].first > l.seq+1 || !row.present() && row[n-1].last > l.seq) {
		v.fault("%q sees %v of %q, whose head is %d", user, row, v.owner, l.seq)
	}
	v.rows++
	if row.present() {
		v.present++
	}
	return v.countSight(v.owner, user, row)
}

// countSight counts a pair of user and conversation whose entries must be in the inbox.
func (v *verifier) countSight(name, user string, visible spans) error {
	l, err := v.ledger(name)
	if err != nil {
		return err
	}
	in, err := v.inboxHead(partitionOf(user), user)
	if err == nil && in.trimmed == 0 && l.due(user, visible) > l.trimmed {
		v.dueSights++
	}
	return err
}

func (v *verifier) verifyInbox(p uint8, value []byte) error {
	v.census.Users++
	var in inbox
	if err := in.parse(value); err != nil || in.pos == in.trimmed {
		return err
	}
	return v.mustExist(appendEntryKey(nil, p, v.owner, in.pos))
}

// sight is what one inbox tells so far.
type sight struct {
	head inbox
	of   map[string]*seen
}

// seen is what one inbox tells of one conversation.
type seen struct {
	visible spans
	last    uint64 // Seq of the last message entry
}

func (s *sight) begin(v *verifier, p uint8, user string) (err error) {
	s.of = map[string]*seen{}
	s.head, err = v.inboxHead(p, user)
	return err
}

func (v *verifier) verifyEntry(pos uint64, value []byte) error {
	v.census.Entries++
	if want := max(v.last, v.inbox.head.trimmed) + 1; pos != want {
		v.fault("%q has entry %d, want %d", v.owner, pos, want)
	}
	v.last = pos
	var e entry
	if err := e.parse(value); err != nil {
		return err
	}
	l, err := v.ledger(e.conversation)
	if err != nil {
		return err
	}
	if !l.exists {
		v.fault("entry %d of %q points to %q, which is not there", pos, v.owner, e.conversation)
		return nil
	}
	if e.kind == store.KindMessage {
		return v.inbox.message(v, pos, &e, l)
	}
	if l.version == 0 || e.seq > l.seq+1 {
		v.fault("entry %d of %q is %+v, and the head of the conversation is %d", pos, v.owner, e, l.seq)
	}
	return nil
}

// message judges a message entry: visible to the user, and next after the one before. What was trimmed before it was
// paid may be left out.
func (s *sight) message(v *verifier, pos uint64, e *entry, l *ledger) error {
	conv := s.of[e.conversation]
	if conv == nil {
		visible, err := v.visible(v.owner, e.conversation)
		if err != nil {
			return err
		}
		conv = &seen{visible: visible}
		if s.head.trimmed > 0 {
			conv.last = e.seq - 1
		}
		s.of[e.conversation] = conv
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

// end compares an inbox with its head and with what its conversations must have given it.
func (s *sight) end(v *verifier, user string, last uint64) error {
	if last != s.head.pos {
		v.fault("%q ends with entry %d, its head is %d", user, last, s.head.pos)
	}
	for name, conv := range s.of {
		l, err := v.ledger(name)
		if err != nil {
			return err
		}
		due := l.due(user, conv.visible)
		if due > l.trimmed && conv.last != due || conv.last > due && due > l.trimmed {
			v.fault("%q has %q up to message %d, want %d", user, name, conv.last, due)
		}
		if s.head.trimmed == 0 && due > l.trimmed {
			v.sights++
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
	_, err = v.read(appendMemberKey(nil, partitionOf(name), name, user), func(value []byte) (err error) {
		row, err = parseSpans(nil, value)
		return err
	})
	return row, err
}
