package store

import "strings"

// Sizes that every implementation keeps to.
const (
	MaxIDBytes     = 64   // user, device and group ids, client ids
	MaxMembers     = 2000 // members of one group
	MaxPageEntries = 64   // entries of one inbox read
	MaxPageBytes   = 64 << 10
	MaxHistory     = 100 // messages of one history read
	MaxPayload     = 60 << 10
	separator      = "\x1f"
)

// Epoch identifies one history of a store: random, new at creation, restore and repair.
type Epoch [16]byte

// MessageID is made at commit and unique across epochs.
type MessageID [16]byte

// Kind says what an inbox entry tells its user.
type Kind uint8

const (
	KindMessage      Kind = 1 // points to a message of a conversation's log
	KindRecall       Kind = 2
	KindRead         Kind = 3
	KindReceipt      Kind = 4
	KindConversation Kind = 5 // the user's membership changed
)

// MessageState says what has become of a message.
type MessageState uint8

const (
	Stored   MessageState = 0
	Recalled MessageState = 1 // its payload is erased
)

// Message is one unit of a conversation's log.
type Message struct {
	Conversation string
	Seq          uint64 // contiguous from 1 within the conversation and epoch
	ID           MessageID
	Sender       string
	SenderDevice string
	ClientID     []byte
	Time         int64 // Unix milliseconds
	State        MessageState
	Payload      []byte
}

// Membership is what a conversation entry tells one user about a group: one change, as it was at its commit.
type Membership struct {
	Conversation string
	Member       bool   // true: joined
	FirstSeq     uint64 // when Member is true: the first Seq visible from then on
	LastSeq      uint64 // when Member is false: the last Seq visible until then
}

// Entry is one position of a user's inbox, joined with what it points to.
type Entry struct {
	Pos        uint64
	Kind       Kind
	Void       bool        // nothing to show: trimmed or hidden
	Message    *Message    // KindMessage
	Membership *Membership // KindConversation
}

// Direct names the direct conversation of two users.
func Direct(a, b string) string {
	if b < a {
		a, b = b, a
	}
	return a + separator + b
}

// Peers returns the two users of a direct conversation; ok is false for a group.
func Peers(conversation string) (a, b string, ok bool) {
	return strings.Cut(conversation, separator)
}
