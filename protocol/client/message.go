package client

import (
	"encoding/hex"
	"time"

	"lifeline/protocol"
)

// MessageID identifies a message in every epoch. A message that comes twice has the same one.
type MessageID [protocol.MessageIDBytes]byte

func (id MessageID) String() string { return hex.EncodeToString(id[:]) }

// Epoch identifies one history of the server's store.
type Epoch [protocol.EpochBytes]byte

func (e Epoch) String() string { return hex.EncodeToString(e[:]) }

// Message is one message of a conversation. Seq orders the messages of a conversation within an epoch.
type Message struct {
	Pos          uint64 // in this user's inbox; 0 in history
	Conversation string
	Seq          uint64
	ID           MessageID
	Sender       string
	SenderDevice string
	ClientID     []byte // only of the user's own messages
	Time         time.Time
	Recalled     bool // the payload was erased
	// Payload is absent, and HasPayload false, only in the copy that comes back on the connection that sent it: the app
	// has it under ClientID [P-6.14].
	Payload    []byte
	HasPayload bool
}

func newMessage(pos uint64, m *protocol.Message) Message {
	return Message{
		Pos:          pos,
		Conversation: string(m.Conversation),
		Seq:          m.Seq,
		ID:           messageID(m.MessageID),
		Sender:       string(m.Sender),
		SenderDevice: string(m.SenderDevice),
		ClientID:     m.ClientID,
		Time:         unixMilli(m.TimeMs),
		Recalled:     m.State == protocol.Recalled,
		Payload:      m.Payload,
		HasPayload:   m.HasPayload,
	}
}

// messageID is all zero for a frame that carries none.
func messageID(b []byte) (id MessageID) {
	copy(id[:], b)
	return id
}

// unixMilli is the time of a server's number [P-3.11], kept within what a calendar can say.
func unixMilli(ms uint64) time.Time {
	const last = 253402300799999 // the year 9999
	return time.UnixMilli(int64(min(ms, last)))
}
