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
	if _, err := mustReadMeta(engine); err != nil {
		return v.census, err
	}
	for p := range uint8(store.Partitions) {
		if err := v.partition(p); err != nil {
			return v.census, err
		}
	}
	if err := v.nobodys(); err != nil {
		return v.census, err
	}
	if v.due != v.had {
		v.fault("%d users must have an entry of a conversation, %d have one", v.due, v.had)
	}
	return v.census, nil
}

// verifier walks the keys in order. Its methods return an error when the engine does; a fault is reported.
type verifier struct {
	engine store.Engine
	now    int64
	report func(string)
	census Census
	known  map[string]*ledger // a cache

	// Of the partition.
	p       uint8
	applied uint64

	// Of the conversation, user or list of obligations whose keys are being read.
	space         byte
	owner         string
	ledger        *ledger
	inbox         inbox
	last          uint64 // message, entry or obligation
	rows, present uint64
	seen          map[string]*seen // of a user: what the inbox tells of each conversation
	told          map[string]bool  // of a user: whether the inbox says at last that a group was joined

	// Pairs of user and conversation with an entry that cannot have been trimmed: that must be there, that are there.
	due, had uint64
}

func (v *verifier) fault(format string, args ...any) { v.report(fmt.Sprintf(format, args...)) }

func (v *verifier) partition(p uint8) error {
	v.p, v.applied, v.space = p, 0, 0
	var failed error
	err := v.engine.Scan([]byte{p}, []byte{p + 1}, func(key, value []byte) bool {
		if failed = v.key(key, value); failed == errMalformed {
			v.fault("key %q has a malformed value %q", key, value)
			failed = nil
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		err = v.end()
	}
	return err
}

// nobodys reports keys behind the partitions, where there is only the store's own record.
func (v *verifier) nobodys() error {
	return v.engine.Scan([]byte{store.Partitions}, []byte{0xff, 0xff}, func(key, _ []byte) bool {
		if !bytes.Equal(key, metaKey()) {
			v.fault("key %q is in no partition", key)
		}
		return true
	})
}

// key judges one key. It returns errMalformed for a value that cannot be read.
func (v *verifier) key(key, value []byte) error {
	if len(key) < 2 {
		v.fault("key %q has no space", key)
		return nil
	}
	switch space := key[1]; space {
	case spaceApplied:
		f := parse(value)
		v.applied = f.number()
		return f.end()
	case spaceExpiry:
		return v.expiry(key, value)
	case spaceConversation, spaceObligation, spaceUser:
		owner, rest, ok := splitOwner(key)
		if !ok || space != spaceObligation && len(rest) == 0 {
			v.fault("key %q names no owner", key)
			return nil
		}
		if err := v.begin(space, string(owner)); err != nil {
			return err
		}
		if space == spaceObligation {
			return v.obligation(number(rest), value)
		}
		return v.owned(rest[0], rest[1:], value)
	}
	v.fault("key %q is in no space", key)
	return nil
}

// begin ends the owner before, if the key is of another.
func (v *verifier) begin(space byte, owner string) (err error) {
	if space == v.space && owner == v.owner {
		return nil
	}
	if err := v.end(); err != nil {
		return err
	}
	if partitionOf(owner) != v.p {
		v.fault("%q is in partition %d, not %d", owner, v.p, partitionOf(owner))
	}
	if space == spaceUser && !store.ValidID(owner) || space != spaceUser && !store.ValidConversation(owner) {
		v.fault("%q is no id of a user or a conversation", owner)
	}
	if v.applied == 0 {
		v.fault("partition %d has keys and no applied index", v.p)
	}
	v.space, v.owner, v.last, v.rows, v.present = space, owner, 0, 0, 0
	if space == spaceUser {
		v.seen, v.told = map[string]*seen{}, map[string]bool{}
		v.inbox, err = v.readInbox(owner)
		return err
	}
	v.ledger, err = v.read(owner)
	if err == nil && !v.ledger.exists {
		v.fault("%q has keys and no head", owner)
	}
	return err
}

// end compares what was counted of an owner with its head.
func (v *verifier) end() error {
	space, l := v.space, v.ledger
	v.space = 0
	switch {
	case space == spaceUser:
		return v.endInbox()
	case space == spaceObligation && v.last != l.owed:
		v.fault("%q ends with obligation %d, its head says %d", v.owner, v.last, l.owed)
	case space == spaceConversation && max(v.last, l.trimmed) != l.seq:
		v.fault("%q ends with message %d, its head is %d", v.owner, v.last, l.seq)
	case space == spaceConversation && (v.rows != l.rows || v.present != l.members):
		v.fault("%q has %d members and %d rows, its head says %d and %d", v.owner, v.present, v.rows, l.members, l.rows)
	}
	return nil
}

func (v *verifier) owned(table byte, rest, value []byte) error {
	user := v.space == spaceUser
	switch {
	case !user && table == tableDedup:
		return v.dedup(value)
	case !user && table == tableMember:
		return v.member(string(rest), value)
	case !user && table == tableMessage:
		return v.message(number(rest), value)
	case !user && table == tableConversation:
		return v.conversation(value)
	case user && table == tableEntry:
		return v.entry(number(rest), value)
	case user && table == tableInbox:
		v.census.Users++
		return v.inbox.parse(value)
	case user && table == tableCursor:
		return v.cursor(string(rest), value)
	}
	v.fault("%q has a key in table %q", v.owner, table)
	return nil
}

func (v *verifier) expiry(key, value []byte) error {
	if len(key) <= 6 || partitionOf(string(key[6:])) != v.p {
		v.fault("key %q names no conversation of partition %d", key, v.p)
	}
	f := parse(value)
	return f.end()
}

// get parses a value that need not be there.
func (v *verifier) get(key []byte, parse func([]byte) error) (found bool, err error) {
	value, found, err := v.engine.Get(nil, key)
	if found && err == nil && parse(value) != nil {
		found = false // its own turn tells
	}
	return found, err
}

// mustExist reports a key that must be there.
func (v *verifier) mustExist(key []byte) error {
	found, err := v.get(key, func([]byte) error { return nil })
	if err == nil && !found {
		v.fault("key %q is missing", key)
	}
	return err
}

func (v *verifier) readInbox(user string) (in inbox, err error) {
	_, err = v.get(appendInboxKey(nil, partitionOf(user), user), in.parse)
	return in, err
}
