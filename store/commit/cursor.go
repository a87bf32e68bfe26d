package commit

import "encoding/binary"

// cursor is what a device has acknowledged. There is none before its first Ack with a Pos.
type cursor struct {
	pos      uint64
	platform uint8
	seen     int64 // Unix milliseconds, when its last session ended
}

func (c *cursor) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, valueVersion), c.pos)
	return binary.AppendUvarint(append(dst, c.platform), uint64(c.seen))
}

func (c *cursor) parse(value []byte) error {
	f := parse(value)
	*c = cursor{pos: f.number(), platform: f.byte(), seen: int64(f.number())}
	return f.end()
}
