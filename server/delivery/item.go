package delivery

import (
	"lifeline/protocol"
	"lifeline/store"
)

// Item is one entry for one user, on its way to a loop that may have sessions of the user. It is immutable.
type Item struct {
	User string
	Hash uint64 // of User, in the node's directory
	Pos  uint64
	What *Encoded
}

// Encoded is an event's content in the wire's bytes, made once for all who receive it. It is immutable.
type Encoded struct {
	Kind      store.Kind
	Origin    uint64 // ConnID of the connection that sent it, 0 = none
	Committed int64  // node clock, nanoseconds
	sender    string
	message   protocol.EncodedMessage // KindMessage
	entry     *protocol.Entry         // any other kind, without its Pos
}

// Encode makes the bytes of an event. Any goroutine.
func Encode(e *store.Event, committed int64) *Encoded {
	c := &Encoded{Kind: e.Kind, Origin: e.Origin.Conn, Committed: committed}
	if e.Kind != store.KindMessage {
		c.entry = new(protocol.Entry)
		fillEntry(c.entry, &store.Entry{Kind: e.Kind, Membership: e.Membership}, "")
		return c
	}
	m := e.Message
	c.sender = m.Sender
	var wire protocol.Message
	fillMessage(&wire, m, true)
	c.message = protocol.EncodeMessage(make([]byte, 0, len(m.Payload)+len(m.Conversation)+len(m.ClientID)+
		len(m.Sender)+len(m.SenderDevice)+messageOverhead), &wire)
	return c
}

// messageOverhead is room for a message's tags, lengths, numbers and id.
const messageOverhead = 64

// Append appends the Push that carries the item to a connection. The one that sent it has the payload [P-6.14]. A client
// that lacks the capability for the kind gets a void [P-6.13].
func (it *Item) Append(dst []byte, conn uint64, capabilities uint32) []byte {
	c := it.What
	if c.Kind != store.KindMessage {
		return appendEntryPush(dst, c.entry, it.Pos, capabilities)
	}
	switch {
	case c.Origin == conn && conn != 0:
		return protocol.AppendPushMessage(dst, it.Pos, c.message.Origin())
	case c.sender == it.User:
		return protocol.AppendPushMessage(dst, it.Pos, c.message.Own())
	default:
		return protocol.AppendPushMessage(dst, it.Pos, c.message.Others())
	}
}

func appendEntryPush(dst []byte, entry *protocol.Entry, pos uint64, capabilities uint32) []byte {
	e := *entry
	e.Pos = pos
	if e.Kind == protocol.EntryVoid || !capable(e.Kind, capabilities) {
		e = voidEntry(pos, pos)
	}
	push := protocol.Push{Entries: []protocol.Entry{e}}
	return push.Append(dst)
}
