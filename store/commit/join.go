package commit

import (
	"fmt"
	"slices"

	"lifeline/store"
)

// scanRun is how many messages behind one another in a conversation are read by a scan and not one by one.
const scanRun = 3

// joiner makes what a reader sees of the entries of a page.
type joiner struct {
	store *Store
	pos   uint64 // of the next entry
	room  int    // for payload
	page  []store.Entry
	key   []byte
	like  *store.Message // the message before: the next often has the same sender
}

// join goes as far as the room for payload goes, but takes at least one entry.
func (s *Store) join(entries []entry, from uint64, room int) ([]store.Entry, error) {
	j := &joiner{store: s, pos: from, room: room, page: make([]store.Entry, 0, len(entries)), like: &store.Message{}}
	for i, more := 0, true; i < len(entries) && more; {
		var err error
		if n := run(entries[i:]); n >= scanRun {
			more, err = j.addRun(entries[i : i+n])
			i += n
		} else {
			more, err = j.add(&entries[i])
			i++
		}
		if err != nil {
			return nil, err
		}
	}
	return j.page, nil
}

// run counts the message entries at the beginning whose messages lie behind one another.
func run(entries []entry) int {
	n := 0
	for ; n < len(entries) && entries[n].kind == store.KindMessage; n++ {
		if n > 0 && (entries[n].conversation != entries[0].conversation || entries[n].seq != entries[n-1].seq+1) {
			break
		}
	}
	return n
}

// put adds an entry if there is room for it.
func (j *joiner) put(e store.Entry) (more bool) {
	if e.Message != nil {
		j.room -= len(e.Message.Payload)
		j.like = e.Message
	}
	if j.room < 0 && len(j.page) > 0 {
		return false
	}
	e.Pos = j.pos
	j.pos++
	j.page = append(j.page, e)
	return true
}

func (j *joiner) add(e *entry) (more bool, err error) {
	if e.kind == store.KindConversation {
		return j.put(store.Entry{Kind: e.kind, Membership: e.membership()}), nil
	}
	j.key = appendMessageKey(j.key[:0], partitionOf(e.conversation), e.conversation, e.seq)
	value, found, err := j.store.engine.Get(nil, j.key)
	if err != nil {
		return false, keyError(j.key, err)
	}
	if !found {
		return j.putVoid(e)
	}
	return j.putMessage(e, j.key, value)
}

func (j *joiner) putMessage(e *entry, key, value []byte) (more bool, err error) {
	m := &store.Message{Conversation: e.conversation, Seq: e.seq}
	if err := parseMessage(m, value, j.like); err != nil {
		return false, keyError(key, err)
	}
	return j.put(store.Entry{Kind: e.kind, Message: m}), nil
}

// putVoid adds an entry whose message is not there, which it must rightly not be.
func (j *joiner) putVoid(e *entry) (more bool, err error) {
	conv, err := j.store.readConversation(partitionOf(e.conversation), e.conversation)
	if err == nil && e.seq > conv.trimmed {
		err = fmt.Errorf("message %d of %q: %w", e.seq, e.conversation, errMissing)
	}
	return j.put(store.Entry{Kind: e.kind, Void: true}), err
}

// addRun adds entries of one conversation with one scan.
func (j *joiner) addRun(entries []entry) (more bool, err error) {
	name, p := entries[0].conversation, partitionOf(entries[0].conversation)
	from := appendMessageKey(nil, p, name, entries[0].seq)
	to := appendMessageKey(nil, p, name, entries[len(entries)-1].seq+1)
	prefix := len(from) - 8
	more = true
	failed := j.store.engine.Scan(from, to, func(key, value []byte) bool {
		for len(entries) > 0 && number(key[prefix:]) != entries[0].seq && more && err == nil {
			more, err = j.putVoid(&entries[0])
			entries = entries[1:]
		}
		if len(entries) > 0 && more && err == nil {
			more, err = j.putMessage(&entries[0], key, slices.Clone(value))
			entries = entries[1:]
		}
		return more && err == nil
	})
	for ; failed == nil && err == nil && more && len(entries) > 0; entries = entries[1:] {
		more, err = j.putVoid(&entries[0])
	}
	if err == nil {
		err = failed
	}
	return more, err
}
