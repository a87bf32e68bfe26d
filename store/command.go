package store

// Command is a change asked of the store: [*Send], [*Members] or [*Forget]. A submitted command belongs to the store
// and must not be changed; its slices must not alias a connection's buffer.
type Command interface{ command() }

// Origin says who asked, so that the answer finds its way back. Tag and Received belong to the asker.
type Origin struct {
	Conn     uint64 // ConnID, 0 = no connection
	Tag      uint64
	Received int64 // the asker's clock when the request had come whole
}

// Replier takes the answer of a command on the store's goroutine. It must not block.
type Replier interface{ Reply(Answer) }

// Answer is the outcome of one command. Every submitted command gets exactly one, after its commit and after Committed
// has reported it.
type Answer struct {
	Origin    Origin
	Refusal   Refusal // None = durable
	Seq       uint64
	MessageID MessageID
	Time      int64 // Unix milliseconds
}

// Send appends a message to a conversation. It is idempotent by (conversation, Sender, SenderDevice, ClientID): the
// first result again for the same payload, Conflict for another.
type Send struct {
	Origin       Origin
	Reply        Replier
	Sender       string
	SenderDevice string
	ToUser       string // exactly one of ToUser and ToGroup is set
	ToGroup      string
	ClientID     []byte
	Payload      []byte
	NoNotify     bool
}

// Members changes a group's members; the group exists from the first such command. Version must be larger than the
// stored one (StaleVersion otherwise): the backend, which owns the list, numbers its changes.
type Members struct {
	Origin  Origin
	Reply   Replier
	Group   string
	Version uint64
	Add     []string
	Remove  []string
}

// Forget removes a device's cursor: the user logged out there. Acks submitted before it are forgotten with it.
type Forget struct {
	Origin Origin
	Reply  Replier
	User   string
	Device string
}

func (*Send) command()    {}
func (*Members) command() {}
func (*Forget) command()  {}

// Conversation names the conversation a Send goes to.
func (s *Send) Conversation() string {
	if s.ToGroup != "" {
		return s.ToGroup
	}
	return Direct(s.Sender, s.ToUser)
}

// Refusal says why a command was not carried out. The zero value means that it was.
type Refusal uint8

const (
	None           Refusal = iota
	Busy                   // at admission only: the queue is full, try later
	StorageFull            // at admission only: the disk is nearly full, try later
	Closed                 // at admission only: the store is shutting down
	InvalidID              // an id is empty, too long or holds control characters
	TooLarge               // the payload is above MaxPayload
	NotMember              // the sender is not a member of the group
	NoSuchGroup            // no Members command has named it
	Conflict               // the client id was used with another payload
	StaleVersion           // a Members command with this or a later version was carried out
	TooManyMembers         // the group would exceed MaxMembers
	Overdue                // the conversation owes too many inbox entries, try later
)

var refusals = [...]string{
	None: "none", Busy: "busy", StorageFull: "storage full", Closed: "closed", InvalidID: "invalid id", TooLarge: "too large",
	NotMember: "not a member", NoSuchGroup: "no such group", Conflict: "conflict", StaleVersion: "stale version",
	TooManyMembers: "too many members", Overdue: "overdue",
}

func (r Refusal) String() string {
	if int(r) < len(refusals) {
		return refusals[r]
	}
	return "unknown"
}

// Refusals lists every refusal, for tables that must be exhaustive.
func Refusals() []Refusal {
	all := make([]Refusal, len(refusals))
	for i := range all {
		all[i] = Refusal(i)
	}
	return all
}
