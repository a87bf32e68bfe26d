package commit

import (
	"encoding/binary"

	"lifeline/store"
)

// inbox is the head of a user's inbox. It is written in the batch of every append, so its Pos is never below the last
// entry's.
type inbox struct {
	pos     uint64 // of the last entry
	trimmed uint64 // entries up to here are gone
}

func (i *inbox) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, valueVersion), i.pos)
	return binary.AppendUvarint(dst, i.trimmed)
}

func (i *inbox) parse(value []byte) error {
	f := parse(value)
	*i = inbox{pos: f.number(), trimmed: f.number()}
	if i.trimmed > i.pos {
		return errMalformed
	}
	return f.end()
}

// entry is one position of an inbox: a pointer to a message, or a change of the user's membership as it was.
type entry struct {
	kind         store.Kind
	conversation string
	seq          uint64 // of the message; of a membership, its first Seq or, when it ended, its last
	member       bool   // only KindConversation
	time         int64  // of the commit, Unix milliseconds
}

func (e *entry) append(dst []byte) []byte {
	dst = appendString(append(dst, valueVersion, byte(e.kind)), e.conversation)
	dst = binary.AppendUvarint(dst, e.seq)
	dst = binary.AppendUvarint(dst, uint64(e.time))
	if e.kind == store.KindConversation {
		dst = append(dst, flag(e.member))
	}
	return dst
}

// parse keeps the present conversation's string when it is the same: entries of one conversation often follow another.
func (e *entry) parse(value []byte) error {
	f := parse(value)
	e.kind = store.Kind(f.byte())
	e.conversation = shared(f.bytes(), e.conversation)
	e.seq, e.time, e.member = f.number(), int64(f.number()), false
	switch e.kind {
	case store.KindMessage:
	case store.KindConversation:
		e.member = f.byte() != 0
	default:
		return errMalformed
	}
	return f.end()
}

func (e *entry) membership() *store.Membership {
	if e.member {
		return &store.Membership{Conversation: e.conversation, Member: true, FirstSeq: e.seq}
	}
	return &store.Membership{Conversation: e.conversation, LastSeq: e.seq}
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
