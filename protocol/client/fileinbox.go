package client

import (
	"encoding/binary"
	"errors"
	"sync"
)

const (
	inboxKind   = 'I'
	inboxMost   = 1 << 20 // bytes of journal before it is written anew
	idsInRecord = 512
)

// Kinds of records in an inbox's journal.
const (
	recordCommit = 'C' // pos, then message ids
	recordReset  = 'R' // epoch, then pos
	recordIDs    = 'I' // message ids
)

// FileInbox is an Inbox in one file: for apps without a database, and for tools. Only one process can have it open.
type FileInbox struct {
	mu      sync.Mutex
	memory  MemoryInbox // what the file holds. Guarded by mu.
	journal *journal    // Guarded by mu.
	most    int64       // size of the journal at which it is written anew. Set at construction.
	due     int64       // the same, from the last try on. Guarded by mu.
}

var _ Inbox = (*FileInbox)(nil)

// OpenFileInbox opens or creates an inbox. owner says whose it is, for example "bob/phone": with another owner the file
// is refused, for positions of one device mean nothing to another.
func OpenFileInbox(path, owner string) (*FileInbox, error) {
	f := &FileInbox{most: inboxMost, due: inboxMost}
	var err error
	f.journal, err = openJournal(path, inboxKind, owner, f.apply)
	return f, err
}

var errInboxRecord = errors.New("it holds a record that no inbox writes")

func (f *FileInbox) apply(record []byte) error {
	kind, rest := record[0], record[1:]
	switch kind {
	case recordCommit, recordReset:
		var p Progress
		if kind == recordReset {
			if len(rest) < len(p.Epoch) {
				return errInboxRecord
			}
			rest = rest[copy(p.Epoch[:], rest):]
		}
		pos, n := binary.Uvarint(rest)
		if n <= 0 {
			return errInboxRecord
		}
		p.Pos = pos
		if kind == recordReset {
			return f.memory.Reset(p)
		}
		return f.memory.Commit(splitIDs(rest[n:]), pos)
	case recordIDs:
		return f.memory.Commit(splitIDs(rest), f.memory.progress.Pos)
	}
	return errInboxRecord
}

func splitIDs(b []byte) []MessageID {
	ids := make([]MessageID, 0, len(b)/len(MessageID{}))
	for len(b) >= len(MessageID{}) {
		ids = append(ids, MessageID(b[:len(MessageID{})]))
		b = b[len(MessageID{}):]
	}
	return ids
}

// Progress implements [Inbox].
func (f *FileInbox) Progress() (Progress, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.memory.Progress()
}

// Seen implements [Inbox].
func (f *FileInbox) Seen(id MessageID) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.memory.Seen(id)
}

// Commit implements [Inbox].
func (f *FileInbox) Commit(ids []MessageID, pos uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	record := binary.AppendUvarint([]byte{recordCommit}, pos)
	for i := range ids {
		record = append(record, ids[i][:]...)
	}
	if err := f.journal.append(record, true); err != nil {
		return err
	}
	if err := f.memory.Commit(ids, pos); err != nil {
		return err
	}
	return f.compact()
}

// Reset implements [Inbox].
func (f *FileInbox) Reset(p Progress) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.journal.append(resetRecord(p), true); err != nil {
		return err
	}
	return f.memory.Reset(p)
}

func resetRecord(p Progress) []byte {
	return binary.AppendUvarint(append([]byte{recordReset}, p.Epoch[:]...), p.Pos)
}

// compact writes the journal anew when it has grown.
func (f *FileInbox) compact() error {
	if f.journal.size < f.due {
		return nil
	}
	var records [][]byte
	ids := &f.memory.ids
	for i := range ids.order {
		if i%idsInRecord == 0 {
			records = append(records, []byte{recordIDs})
		}
		id := ids.order[(ids.next+i)%len(ids.order)] // oldest first
		last := &records[len(records)-1]
		*last = append(*last, id[:]...)
	}
	if f.memory.known {
		records = append(records, resetRecord(f.memory.progress))
	}
	f.due *= 2 // if this fails, for example because the disk is full
	if f.journal.replace(records) == nil {
		f.due = max(f.most, 2*f.journal.size)
	}
	return f.journal.failed
}

// Close lets another process open the file. The client must not run any more.
func (f *FileInbox) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.journal.close()
}
