package store

// Store is the outer seam: commands in, answers and committed events out, reads. Implementations pass store/storetest.
// All methods may be called from any goroutine.
type Store interface {
	// Submit queues a command and never blocks. It returns None when the command was queued (its Reply follows),
	// or an admission refusal (Busy, StorageFull, Closed), and then nothing follows.
	Submit(Command) Refusal

	// Ack moves a device's cursor forward; a smaller Pos is ignored. It never blocks and is never refused: the
	// newest value of each device is kept and flushed within half a second. At a crash what was not flushed is lost.
	Ack(Ack)

	// Start reads what a new session needs.
	Start(user, device string) (Start, error)

	// Inbox reads entries from a position on. It answers also when there is nothing to read.
	Inbox(InboxRead) (InboxPage, error)

	// History reads messages of a conversation by Seq, as far as the user may see them.
	History(HistoryRead) (HistoryPage, error)

	// Devices lists the devices of a user that have a cursor, by device. For operators: it may be half a second old.
	Devices(user string) ([]Device, error)

	// Epoch is fixed while the store is open.
	Epoch() Epoch

	// Close commits what is queued, flushes cursors and releases the store.
	Close() error
}

// Sink takes what was committed, on the committer's goroutine, in commit order, before the answers. It must not block,
// and must not keep the batch slice (the events' contents are immutable and may be kept).
type Sink interface{ Committed(batch []Event) }

// Event is one thing that entered inboxes: its content once, and every recipient's position.
type Event struct {
	Kind       Kind
	Origin     Origin      // of the command that caused it
	Message    *Message    // KindMessage
	Membership *Membership // KindConversation
	NoNotify   bool
	To         []Recipient
}

// Recipient is one user and the position the event has in that user's inbox.
type Recipient struct {
	User string
	Pos  uint64
}

// Ack is a device's acknowledgement. Leaving is set when its session ends, and stores Seen.
type Ack struct {
	User     string
	Device   string
	Platform uint8
	Pos      uint64
	HasPos   bool // false with Leaving: only last seen is written, and only if a cursor exists
	Leaving  bool
	Seen     int64 // Unix milliseconds
}

// Start is what the store knows when a session starts.
type Start struct {
	Head      uint64
	Trimmed   uint64 // positions up to here are gone
	Cursor    uint64
	HasCursor bool
}

// Device is a device's cursor.
type Device struct {
	Device   string
	Platform uint8
	Cursor   uint64
	Seen     int64 // Unix milliseconds, when its last session ended; 0 = never
}

// InboxRead asks for at most Max entries and MaxBytes of payload from From on; one entry is returned whatever its size.
// Max 0 reads only the head.
type InboxRead struct {
	User     string
	From     uint64
	Max      int // at most MaxPageEntries
	MaxBytes int // at most MaxPageBytes
}

// InboxPage answers an InboxRead. Entries are contiguous from From, unless Trimmed >= From.
type InboxPage struct {
	Head    uint64
	Trimmed uint64
	Entries []Entry
}

// HistoryRead asks for the Seqs From..To of a conversation.
type HistoryRead struct {
	User         string
	Conversation string
	From, To     uint64
	MaxBytes     int
}

// GapReason says why Seqs will never come.
type GapReason uint8

const (
	NotJoined GapReason = 1
	Hidden    GapReason = 2
	Trimmed   GapReason = 3
)

// Gap is a range of Seqs that will never come to this user.
type Gap struct {
	From, To uint64
	Reason   GapReason
}

// HistoryPage answers a HistoryRead. Refusal is NotMember when the user has never been one, NoSuchGroup, or InvalidID.
type HistoryPage struct {
	Refusal      Refusal
	Messages     []*Message
	Gaps         []Gap
	FirstVisible uint64
	Head         uint64
	More         bool // MaxBytes ended the page before To
}
