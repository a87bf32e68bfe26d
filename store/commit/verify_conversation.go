package commit

import (
	"slices"

	"lifeline/store"
)

// maxLedgers bounds the cache of what is known of conversations.
const maxLedgers = 10_000

// ledger is a conversation's head and what it owes.
type ledger struct {
	conversation
	exists  bool
	debts   []obligation
	senders []string // of the debts' messages
}

// read returns what is known of a conversation.
func (v *verifier) read(name string) (*ledger, error) {
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
	if l.exists, err = v.get(appendConversationKey(nil, p, name), l.conversation.parse); err != nil {
		return nil, err
	}
	for index := l.done + 1; index <= l.owed; index++ {
		var o obligation
		if found, err := v.get(appendObligationKey(nil, p, name, index), o.parse); err != nil {
			return nil, err
		} else if !found {
			v.fault("%q lacks its obligation %d", name, index)
			continue
		}
		var m store.Message
		_, err := v.get(appendMessageKey(nil, p, name, o.seq), func(value []byte) error { return parseMessage(&m, value, &m) })
		if err != nil {
			return nil, err
		}
		l.debts, l.senders = append(l.debts, o), append(l.senders, m.Sender)
	}
	return l, nil
}

// due returns the last Seq of those that a user sees which the inbox must have.
func (l *ledger) due(user string, visible spans) uint64 {
	for i, o := range l.debts {
		if o.kind == store.KindMessage && user > o.last && !(o.began && user == l.senders[i]) {
			return visible.before(o.seq)
		}
	}
	return visible.before(l.seq + 1)
}

// owesChange reports whether a user has not been told yet of a change of the membership.
func (l *ledger) owesChange(user string) bool {
	return slices.ContainsFunc(l.debts, func(o obligation) bool { return slices.Contains(o.users, user) })
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

func (v *verifier) conversation(value []byte) error {
	v.census.Conversations++
	var c conversation
	if err := c.parse(value); err != nil {
		return err
	}
	if c.open() > 0 {
		if err := v.mustExist(appendObligationKey(nil, v.p, v.owner, c.owed)); err != nil {
			return err
		}
	}
	a, b, direct := store.Peers(v.owner)
	if direct && (c.version != 0 || c.rows != 0 || c.owed != 0) {
		v.fault("%q is a direct conversation and has the head of a group: %+v", v.owner, c)
	}
	if !direct {
		if c.version == 0 {
			v.fault("%q has a head and never had members", v.owner)
		}
		return nil
	}
	if err := v.countDue(a, spans{{1, forever}}); err != nil || a == b {
		return err
	}
	return v.countDue(b, spans{{1, forever}})
}

func (v *verifier) member(user string, value []byte) error {
	v.census.Members++
	row, err := parseSpans(nil, value)
	if err != nil {
		return err
	}
	head := v.ledger.seq
	if n := len(row); n > 0 && (row[n-1].first > head+1 || !row.present() && row[n-1].last > head) {
		v.fault("%q sees %v of %q, whose head is %d", user, row, v.owner, head)
	}
	v.rows++
	if row.present() {
		v.present++
	}
	return v.countDue(user, row)
}

// countDue counts a user of the conversation in whose inbox an entry of it must be.
func (v *verifier) countDue(user string, visible spans) error {
	in, err := v.readInbox(user)
	if err == nil && in.trimmed == 0 && v.ledger.due(user, visible) > v.ledger.trimmed {
		v.due++
	}
	return err
}

func (v *verifier) dedup(value []byte) error {
	v.census.Dedups++
	var d dedup
	if err := d.parse(value); err != nil {
		return err
	}
	if d.seq == 0 || d.seq > v.ledger.seq {
		v.fault("%q has a client id of message %d, its head is %d", v.owner, d.seq, v.ledger.seq)
	}
	return v.mustExist(appendExpiryKey(nil, v.p, dayOf(d.time), v.owner))
}

func (v *verifier) message(seq uint64, value []byte) error {
	v.census.Messages++
	if want := max(v.last, v.ledger.trimmed) + 1; seq != want {
		v.fault("%q has message %d, want %d", v.owner, seq, want)
	}
	v.last = seq
	var m store.Message
	if err := parseMessage(&m, value, &m); err != nil || v.now-m.Time >= dedupKept {
		return err
	}
	var d dedup
	hash, _ := dedupHash(nil, m.Sender, m.SenderDevice, m.ClientID)
	found, err := v.get(appendDedupKey(nil, v.p, v.owner, &hash), d.parse)
	if err == nil && (!found || d.seq != seq || d.id != m.ID || d.time != m.Time ||
		m.State != store.Recalled && d.payload != payloadHash(m.Payload)) {
		v.fault("message %d of %q would not be found by a retry: its client id gives %+v", seq, v.owner, d)
	}
	return err
}

func (v *verifier) obligation(index uint64, value []byte) error {
	v.census.Obligations++
	l := v.ledger
	if want := max(v.last, l.done) + 1; index != want {
		v.fault("%q has obligation %d, want %d", v.owner, index, want)
	}
	v.last = index
	var o obligation
	if err := o.parse(value); err != nil {
		return err
	}
	if o.seq > l.seq+1 || o.kind == store.KindMessage && (o.seq == 0 || o.seq > l.seq) {
		v.fault("%q owes %+v, and its head is %d", v.owner, o, l.seq)
	}
	return nil
}
