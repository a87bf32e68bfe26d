package client

// Progress is how far a device has got with its user's inbox.
type Progress struct {
	Epoch Epoch
	Pos   uint64
}

// Inbox is the app's database, as far as the SDK needs it. Its methods are called by one goroutine at a time, the one
// that also calls OnMessage. An error ends Run: nothing is acknowledged, so nothing is lost.
//
// An app that keeps its messages in the same database writes them in OnMessage and lets Commit end that transaction:
// then a message and the position behind it are stored together or not at all [P-6.10].
type Inbox interface {
	// Progress returns what Commit and Reset stored last; ok is false on first login.
	Progress() (p Progress, ok bool, err error)
	// Seen tells whether Commit was given this id. An inbox may forget old ids, but none of the last thousand.
	Seen(id MessageID) (bool, error)
	// Commit stores, in one transaction, that these messages were handled and everything up to pos. It returns when that
	// is durable.
	Commit(ids []MessageID, pos uint64) error
	// Reset forgets the position of another epoch or of a device that was too far behind, and begins at p. Ids stay
	// [P-6.11].
	Reset(p Progress) error
}

// recentIDs is how many message ids the inboxes of this package remember.
const recentIDs = 4096

// recent is a set of the last recentIDs ids.
type recent struct {
	set   map[MessageID]struct{}
	order []MessageID // a ring once it is full
	next  int
}

func (r *recent) has(id MessageID) bool {
	_, ok := r.set[id]
	return ok
}

func (r *recent) add(id MessageID) {
	if r.has(id) {
		return
	}
	if r.set == nil {
		r.set = make(map[MessageID]struct{})
	}
	r.set[id] = struct{}{}
	if len(r.order) < recentIDs {
		r.order = append(r.order, id)
		return
	}
	delete(r.set, r.order[r.next])
	r.order[r.next] = id
	r.next = (r.next + 1) % recentIDs
}

// MemoryInbox is an Inbox that a process forgets: its device logs in for the first time at every start. The zero value
// is ready.
type MemoryInbox struct {
	progress Progress
	known    bool
	ids      recent
}

var _ Inbox = (*MemoryInbox)(nil)

// Progress implements [Inbox].
func (m *MemoryInbox) Progress() (Progress, bool, error) { return m.progress, m.known, nil }

// Seen implements [Inbox].
func (m *MemoryInbox) Seen(id MessageID) (bool, error) { return m.ids.has(id), nil }

// Commit implements [Inbox].
func (m *MemoryInbox) Commit(ids []MessageID, pos uint64) error {
	for _, id := range ids {
		m.ids.add(id)
	}
	m.progress.Pos = pos
	return nil
}

// Reset implements [Inbox].
func (m *MemoryInbox) Reset(p Progress) error {
	m.progress, m.known = p, true
	return nil
}
