package commit

import (
	"encoding/binary"

	"lifeline/store"
)

// appendMessage appends a message's value; its conversation and Seq are in the key.
func appendMessage(dst []byte, m *store.Message) []byte {
	dst = append(append(dst, valueVersion, byte(m.State)), m.ID[:]...)
	dst = binary.AppendUvarint(dst, uint64(m.Time))
	dst = appendString(dst, m.Sender)
	dst = appendString(dst, m.SenderDevice)
	dst = appendString(dst, m.ClientID)
	return append(dst, m.Payload...)
}

// parseMessage fills a message from its value, which it keeps. The caller sets Conversation and Seq. The sender's strings
// are those of like, when they are the same.
func parseMessage(m *store.Message, value []byte, like *store.Message) error {
	f := parse(value)
	m.State = store.MessageState(f.byte())
	copy(m.ID[:], f.fixed(uint64(len(m.ID))))
	m.Time = int64(f.number())
	m.Sender, m.SenderDevice, m.ClientID = shared(f.bytes(), like.Sender), shared(f.bytes(), like.SenderDevice), f.bytes()
	if f.bad || m.State > store.Recalled {
		return errMalformed
	}
	m.Payload = f.rest
	return nil
}

func shared(b []byte, like string) string {
	if string(b) == like {
		return like
	}
	return string(b)
}
