package commit

import (
	"errors"
	"fmt"

	"lifeline/store"
)

// Start reads what a new session of a device needs.
func (s *Store) Start(user, dev string) (store.Start, error) {
	if !store.ValidID(user) || !store.ValidID(dev) {
		return store.Start{}, nil
	}
	// Before the stored cursor: what is committed meanwhile is found there.
	pending, forgetting := s.cursors.latest(device{user, dev})
	p := partitionOf(user)
	in, err := s.readInbox(p, user)
	if err != nil {
		return store.Start{}, err
	}
	start := store.Start{Head: in.pos, Trimmed: in.trimmed, Cursor: pending.pos, HasCursor: pending.hasPos}
	if forgetting {
		return start, nil
	}
	var stored cursor
	found, err := s.read(appendCursorKey(nil, p, user, dev), stored.parse)
	if found {
		start.Cursor, start.HasCursor = max(start.Cursor, stored.pos), true
	}
	return start, err
}

// Inbox reads a page of a user's inbox.
func (s *Store) Inbox(r store.InboxRead) (store.InboxPage, error) {
	if !store.ValidID(r.User) {
		return store.InboxPage{}, nil
	}
	r.From = max(r.From, 1)
	r.Max = min(max(r.Max, 0), store.MaxPageEntries)
	for trimmed := uint64(forever); ; {
		page, err := s.readPage(&r)
		if !errors.Is(err, errHole) || page.Trimmed == trimmed {
			return page, err
		}
		trimmed = page.Trimmed // if it moves, a trim came between two reads
	}
}

func (s *Store) readPage(r *store.InboxRead) (page store.InboxPage, err error) {
	p := partitionOf(r.User)
	in, err := s.readInbox(p, r.User)
	page.Head, page.Trimmed = in.pos, in.trimmed
	if err != nil || r.Max == 0 || r.From <= in.trimmed || r.From > in.pos {
		return page, err
	}
	entries, err := s.readEntries(p, r.User, r.From, min(in.pos, r.From+uint64(r.Max)-1))
	if err != nil {
		return page, err
	}
	page.Entries, err = s.join(entries, r.From, min(r.MaxBytes, store.MaxPageBytes))
	return page, err
}

// readEntries reads the entries from..to.
func (s *Store) readEntries(p uint8, user string, from, to uint64) ([]entry, error) {
	entries := make([]entry, 0, to-from+1)
	lower := appendEntryKey(nil, p, user, from)
	upper := appendEntryKey(nil, p, user, to+1)
	prefix := len(lower) - 8
	var last entry
	var failed error
	err := s.engine.Scan(lower, upper, func(key, value []byte) bool {
		if number(key[prefix:]) != from+uint64(len(entries)) {
			return false
		}
		failed = keyError(key, last.parse(value))
		entries = append(entries, last)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if next := from + uint64(len(entries)); err == nil && next <= to {
		err = fmt.Errorf("%w: entry %d of %q", errHole, next, user)
	}
	return entries, err
}

func (s *Store) readInbox(p uint8, user string) (in inbox, err error) {
	_, err = s.read(appendInboxKey(nil, p, user), in.parse)
	return in, err
}

func (s *Store) readConversation(p uint8, name string) (conv conversation, err error) {
	_, err = s.read(appendConversationKey(nil, p, name), conv.parse)
	return conv, err
}

// read parses the value of a key, if there is one. The value is the parser's to keep.
func (s *Store) read(key []byte, parse func([]byte) error) (found bool, err error) {
	value, found, err := s.engine.Get(nil, key)
	if found && err == nil {
		err = parse(value)
	}
	return found, keyError(key, err)
}
