package client

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lifeline/protocol"
)

const (
	outboxKind = 'O'
	outboxMost = 256 << 10 // bytes of journal before it is written anew, if half of it is answered
)

// Kinds of records in an outbox's journal.
const (
	recordAdd    = 'A' // Unix milliseconds of Created, then a Send frame
	recordRemove = 'D' // client ids, a byte of length before each
)

// FileOutbox is an Outbox in one file: for apps without a database, and for tools. Only one process can have it open.
type FileOutbox struct {
	mu      sync.Mutex
	waiting []*Outgoing // oldest first. Guarded by mu.
	live    int64       // bytes of their records. Guarded by mu.
	journal *journal    // Guarded by mu.
	most    int64       // size of the journal at which it may be written anew. Set at construction.
	due     int64       // the same, from the last try on. Guarded by mu.
}

var _ Outbox = (*FileOutbox)(nil)

// OpenFileOutbox opens or creates an outbox. owner says whose it is, for example "bob/phone": with another owner the
// file is refused, for the server tells devices apart when it looks for messages that come twice.
func OpenFileOutbox(path, owner string) (*FileOutbox, error) {
	f := &FileOutbox{most: outboxMost, due: outboxMost}
	var err error
	f.journal, err = openJournal(path, outboxKind, owner, f.apply)
	return f, err
}

var errOutboxRecord = errors.New("it holds a record that no outbox writes")

func (f *FileOutbox) apply(record []byte) error {
	switch kind, rest := record[0], record[1:]; kind {
	case recordAdd:
		m, err := parseAdd(rest)
		if err != nil {
			return err
		}
		f.waiting = append(f.waiting, m)
		f.live += int64(recordHeader + len(record))
		return nil
	case recordRemove:
		for len(rest) > 0 {
			n := int(rest[0])
			if n >= len(rest) {
				return errOutboxRecord
			}
			f.drop(rest[1 : 1+n])
			rest = rest[1+n:]
		}
		return nil
	}
	return errOutboxRecord
}

func addRecord(m *Outgoing) []byte {
	record := binary.LittleEndian.AppendUint64([]byte{recordAdd}, uint64(m.Created.UnixMilli()))
	return m.frame(0, false).Append(record)
}

func parseAdd(b []byte) (*Outgoing, error) {
	if len(b) < 8 {
		return nil, errOutboxRecord
	}
	created := time.UnixMilli(int64(binary.LittleEndian.Uint64(b)))
	h, n, err := protocol.ReadHeader(b[8:], protocol.MaxLength)
	if err != nil || n == 0 || h.Type != protocol.TypeSend {
		return nil, errOutboxRecord
	}
	var frame protocol.Send
	if err := frame.Parse(slices.Clone(b[8+n:])); err != nil {
		return nil, fmt.Errorf("%w: %w", errOutboxRecord, err)
	}
	m := &Outgoing{ClientID: frame.ClientID, Payload: frame.Payload, NoNotify: frame.NoNotify, Created: created}
	if frame.To == protocol.ToGroup {
		m.ToGroup = string(frame.ToID)
	} else {
		m.ToUser = string(frame.ToID)
	}
	return m, nil
}

// drop forgets a message if it waits.
func (f *FileOutbox) drop(clientID []byte) {
	i := slices.IndexFunc(f.waiting, func(m *Outgoing) bool { return string(m.ClientID) == string(clientID) })
	if i >= 0 {
		f.live -= int64(recordHeader + len(addRecord(f.waiting[i])))
		f.waiting = slices.Delete(f.waiting, i, i+1)
	}
}

// Load implements [Outbox].
func (f *FileOutbox) Load() ([]*Outgoing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.waiting), nil
}

// Add implements [Outbox].
func (f *FileOutbox) Add(m *Outgoing) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	record := addRecord(m)
	if err := f.journal.append(record, true); err != nil {
		return err
	}
	f.waiting = append(f.waiting, m)
	f.live += int64(recordHeader + len(record))
	f.compact()
	return nil
}

// Remove implements [Outbox].
func (f *FileOutbox) Remove(clientIDs [][]byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	record := []byte{recordRemove}
	for _, id := range clientIDs {
		if len(record)+1+len(id) > recordMost {
			if err := f.journal.append(record, false); err != nil {
				return err
			}
			record = []byte{recordRemove}
		}
		record = append(append(record, byte(len(id))), id...)
		f.drop(id)
	}
	return f.journal.append(record, false)
}

// compact writes the journal anew when most of it is answered. Only Add does that, for the loop must not wait long. A fault
// is no fault of the message that is stored already: the next Add reports it.
func (f *FileOutbox) compact() {
	if f.journal.size < f.due || f.live > f.journal.size/2 {
		return
	}
	records := make([][]byte, len(f.waiting))
	for i, m := range f.waiting {
		records[i] = addRecord(m)
	}
	f.due *= 2 // if this fails, for example because the disk is full
	if f.journal.replace(records) == nil {
		f.due = f.most
	}
}

// Close lets another process open the file. The client must not run any more.
func (f *FileOutbox) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.journal.close()
}
