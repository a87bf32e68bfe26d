package commit

import (
	"encoding/binary"

	"lifeline/store"
)

// An obligation is what the store still owes to inboxes: the entries of one message of a large group, or of one change
// of many members. They are paid in the order of their index, so a conversation that owes something puts everything it
// owes behind it.
type obligation struct {
	kind     store.Kind
	seq      uint64
	noNotify bool     // KindMessage
	began    bool     // KindMessage: the sender has its entry
	last     string   // KindMessage: the last row that was looked at
	member   bool     // KindConversation
	users    []string // KindConversation: whom it concerns, at most one chunk
}

func (o *obligation) append(dst []byte) []byte {
	dst = append(dst, valueVersion, byte(o.kind))
	dst = binary.AppendUvarint(dst, o.seq)
	if o.kind == store.KindMessage {
		return appendString(append(dst, flag(o.noNotify), flag(o.began)), o.last)
	}
	dst = append(dst, flag(o.member))
	for _, user := range o.users {
		dst = appendString(dst, user)
	}
	return dst
}

func (o *obligation) parse(value []byte) error {
	f := parse(value)
	*o = obligation{kind: store.Kind(f.byte()), seq: f.number()}
	switch o.kind {
	case store.KindMessage:
		o.noNotify, o.began, o.last = f.byte() != 0, f.byte() != 0, string(f.bytes())
	case store.KindConversation:
		o.member = f.byte() != 0
		for f.more() {
			o.users = append(o.users, string(f.bytes()))
		}
	default:
		return errMalformed
	}
	return f.end()
}
