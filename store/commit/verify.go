package commit

import (
	"bytes"
	"fmt"
	"time"

	"lifeline/store"
)

// Census counts what a store holds.
type Census struct {
	Conversations, Messages, Members, Dedups, Obligations uint64
	Users, Entries, Cursors                               uint64
}

// Verify reads a whole store that nobody writes to and reports everything that breaks a rule. Its memory does not grow
// with the store, but for the conversations that one user has. An error means that it could not go on.
func Verify(engine store.Engine, now time.Time, report func(fault string)) (Census, error) {
	v := &verifier{engine: engine, now: now.UnixMilli(), report: report, known: map[string]*ledger{}}
	if _, ok, err := ReadMeta(engine); err != nil || !ok {
		return v.census, fmt.Errorf("no store is here: %w", err)
	}
	for p := range uint8(store.Partitions) {
		if err := v.verifyPartition(p); err != nil {
			return v.census, err
		}
	}
	if v.dueSights != v.sights {
		v.fault("%d members of conversations have no entry of them in their inbox, or too many have one", int64(v.dueSights-v.sights))
	}
	if v.census.Dedups > v.expiries {
		v.fault("%d client ids would never expire", v.census.Dedups-v.expiries)
	}
	return v.census, nil
}

type verifier struct {
	engine store.Engine
	now    int64
	report func(string)
	census Census
	known  map[string]*ledger // of conversations, as a cache

	// Of the keys before, in the partition's order.
	table   byte
	owner   string // whose keys in the table are being read
	last    uint64 // the number that ended the owner's last key
	rows    uint64
	present uint64
	inbox   sight

	applied   uint64 // of the partition
	expiries  uint64 // dedup rows that expiry rows name
	sights    uint64 // pairs of user and conversation with an entry that must be there
	dueSights uint64 // pairs that must have one
}

func (v *verifier) fault(format string, args ...any) { v.report(fmt.Sprintf(format, args...)) }

// verifyPartition reads the keys of one partition in order.
func (v *verifier) verifyPartition(p uint8) error {
	v.table, v.owner, v.applied = 0, "", 0
	var failed error
	err := v.engine.Scan([]byte{p}, []byte{p + 1}, func(key, value []byte) bool {
		if failed = v.verifyKey(p, key, value); failed == errMalformed {
			v.fault("key %q has a malformed value %q", key, value)
			failed = nil
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		err = v.endOwner(p)
	}
	return err
}

// verifyKey judges one key. It returns errMalformed for a value that cannot be read.
func (v *verifier) verifyKey(p uint8, key, value []byte) error {
	if len(key) < 2 {
		v.fault("key %q has no table", key)
		return nil
	}
	owner, rest := key[2:], []byte(nil)
	switch key[1] {
	case tableApplied:
		f := parse(value)
		v.applied = f.number()
		return f.end()
	case tableDedup:
		return v.verifyDedup(value)
	case tableExpiry:
		return v.verifyExpiry(p, key, value)
	case tableConversation, tableInbox:
	case tableMember, tableMessage, tableObligation, tableEntry, tableCursor:
		var ok bool
		if owner, rest, ok = splitOwner(key); !ok {
			v.fault("key %q names no owner", key)
			return nil
		}
	default:
		v.fault("key %q is of no table", key)
		return nil
	}
	if err := v.begin(p, key[1], string(owner)); err != nil {
		return err
	}
	switch key[1] {
	case tableConversation:
		return v.verifyConversation(value)
	case tableMember:
		return v.verifyMember(string(rest), value)
	case tableMessage:
		return v.verifyMessage(p, number(rest), value)
	case tableObligation:
		return v.verifyObligation(number(rest), value)
	case tableInbox:
		return v.verifyInbox(p, value)
	case tableEntry:
		return v.verifyEntry(number(rest), value)
	}
	return v.verifyCursor(p, string(rest), value)
}

// begin ends the owner before, if the key is of another.
func (v *verifier) begin(p uint8, table byte, owner string) error {
	if table == v.table && owner == v.owner {
		return nil
	}
	if err := v.endOwner(p); err != nil {
		return err
	}
	if partitionOf(owner) != p {
		v.fault("%q is in partition %d, not %d", owner, p, partitionOf(owner))
	}
	if v.applied == 0 {
		v.fault("partition %d has keys and no applied index", p)
	}
	v.table, v.owner, v.last, v.rows, v.present = table, owner, 0, 0, 0
	if table == tableEntry {
		return v.inbox.begin(v, p, owner)
	}
	return nil
}

// endOwner compares what was counted of an owner with its head.
func (v *verifier) endOwner(p uint8) error {
	table, owner := v.table, v.owner
	v.table, v.owner = 0, ""
	switch table {
	case tableEntry:
		return v.inbox.end(v, owner, v.last)
	case tableMember, tableMessage, tableObligation:
	default:
		return nil
	}
	l, err := v.ledger(owner)
	if err != nil {
		return err
	}
	switch {
	case table == tableMember && (v.rows != l.rows || v.present != l.members):
		v.fault("%q has %d members and %d rows, its head says %d and %d", owner, v.present, v.rows, l.members, l.rows)
	case table == tableMessage && v.last != l.seq:
		v.fault("%q ends with message %d, its head is %d", owner, v.last, l.seq)
	case table == tableObligation && v.last != l.owed:
		v.fault("%q ends with obligation %d, its head says %d", owner, v.last, l.owed)
	}
	return nil
}

func (v *verifier) verifyDedup(value []byte) error {
	v.census.Dedups++
	var d dedup
	return d.parse(value)
}

func (v *verifier) verifyExpiry(p uint8, key, value []byte) error {
	if len(key) != 14 || number(key[6:]) == 0 || number(key[6:]) > v.applied {
		v.fault("key %q is of a batch that partition %d, at %d, has not seen", key, p, v.applied)
	}
	hashes, err := parseExpiry(value)
	if err != nil {
		return err
	}
	for ; len(hashes) > 0; hashes = hashes[16:] {
		v.expiries++
		hash := [16]byte(hashes[:16])
		if _, found, err := v.engine.Get(nil, appendDedupKey(nil, p, &hash)); err != nil {
			return err
		} else if !found {
			v.fault("key %q names the client id %x, which is not there", key, hash)
		}
	}
	return nil
}

func (v *verifier) verifyMessage(p uint8, seq uint64, value []byte) error {
	v.census.Messages++
	l, err := v.ledger(v.owner)
	if err != nil {
		return err
	}
	if want := max(v.last, l.trimmed) + 1; seq != want {
		v.fault("%q has message %d, want %d", v.owner, seq, want)
	}
	v.last = seq
	m := &store.Message{Seq: seq}
	if err := parseMessage(m, value); err != nil {
		return err
	}
	if v.now-m.Time >= dedupKept {
		return nil
	}
	hash, _ := dedupHash(nil, v.owner, m.Sender, m.SenderDevice, m.ClientID)
	key := appendDedupKey(nil, p, &hash)
	row, found, err := v.engine.Get(nil, key)
	if err != nil {
		return err
	}
	var d dedup
	if !found || d.parse(row) != nil || d.seq != seq || d.id != m.ID || d.time != m.Time ||
		m.State != store.Recalled && d.payload != payloadHash(m.Payload) {
		v.fault("message %d of %q would be stored again by a retry: its client id gives %+v", seq, v.owner, d)
	}
	return nil
}

func (v *verifier) verifyObligation(index uint64, value []byte) error {
	v.census.Obligations++
	l, err := v.ledger(v.owner)
	if err != nil {
		return err
	}
	if want := max(v.last, l.done) + 1; index != want {
		v.fault("%q has obligation %d, want %d", v.owner, index, want)
	}
	v.last = index
	var o obligation
	if err := o.parse(value); err != nil {
		return err
	}
	if o.seq > l.seq+1 || o.kind == store.KindMessage && (o.seq == 0 || o.seq > l.seq) || len(o.users) > maxChunk {
		v.fault("%q owes %+v, and its head is %d", v.owner, o, l.seq)
	}
	return nil
}

func (v *verifier) verifyCursor(p uint8, dev string, value []byte) error {
	v.census.Cursors++
	var c cursor
	if err := c.parse(value); err != nil {
		return err
	}
	in, err := v.inboxHead(p, v.owner)
	if err == nil && c.pos > in.pos {
		v.fault("the cursor of %q, device %q, is at %d, ahead of its inbox, at %d", v.owner, dev, c.pos, in.pos)
	}
	return err
}

// read parses a value that need not be there.
func (v *verifier) read(key []byte, parse func([]byte) error) (found bool, err error) {
	value, found, err := v.engine.Get(nil, key)
	if found && err == nil && parse(bytes.Clone(value)) != nil {
		found = false // its own turn tells
	}
	return found, err
}

// mustExist reports a key that a head says is there.
func (v *verifier) mustExist(key []byte) error {
	_, found, err := v.engine.Get(nil, key)
	if err == nil && !found {
		v.fault("key %q is missing", key)
	}
	return err
}

func (v *verifier) inboxHead(p uint8, user string) (in inbox, err error) {
	_, err = v.read(appendInboxKey(nil, p, user), in.parse)
	return in, err
}
