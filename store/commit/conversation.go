package commit

import "encoding/binary"

// conversation is the head of a conversation: everything about it but its messages and members. It is written in the
// batch of every append, so its Seq is never below the last message's.
type conversation struct {
	seq     uint64 // of the last message
	trimmed uint64 // messages up to here are gone
	version uint64 // of the last Members command; 0 = none, so no such group
	members uint64 // present ones
	rows    uint64 // present and former ones
	done    uint64 // obligations up to this index are paid
	owed    uint64 // index of the last obligation
	day     uint64 // of the last client id; its expiry row was written
}

// open is the number of obligations that are not paid yet.
func (c *conversation) open() uint64 { return c.owed - c.done }

func (c *conversation) append(dst []byte) []byte {
	dst = append(dst, valueVersion)
	for _, n := range [...]uint64{c.seq, c.trimmed, c.version, c.members, c.rows, c.done, c.owed, c.day} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func (c *conversation) parse(value []byte) error {
	f := parse(value)
	*c = conversation{
		seq: f.number(), trimmed: f.number(), version: f.number(), members: f.number(),
		rows: f.number(), done: f.number(), owed: f.number(), day: f.number(),
	}
	if c.trimmed > c.seq || c.done > c.owed || c.members > c.rows {
		return errMalformed
	}
	return f.end()
}

// mustOwe reports whether a message's entries become an obligation: behind others, or of more than atOnce members, or of
// a group with so many former members that finding the present ones takes long.
func (c *conversation) mustOwe(atOnce int) bool {
	return c.open() > 0 || c.members > uint64(atOnce) || c.rows > maxRowsAtOnce
}
