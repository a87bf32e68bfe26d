package commit

import (
	"crypto/sha256"
	"encoding/binary"

	"lifeline/store"
)

const (
	dayMillis = 24 * 60 * 60 * 1000
	dedupKept = 7 * dayMillis // how long a client id is remembered
)

// dedupKey is a row's place.
type dedupKey struct {
	conversation string
	hash         [16]byte
}

// dedup is what the first Send of a client id got. It outlives the message.
type dedup struct {
	seq     uint64
	id      store.MessageID
	time    int64   // Unix milliseconds
	payload [8]byte // hash of the payload
}

func (d *dedup) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, valueVersion), d.seq)
	dst = binary.AppendUvarint(append(dst, d.id[:]...), uint64(d.time))
	return append(dst, d.payload[:]...)
}

func (d *dedup) parse(value []byte) error {
	f := parse(value)
	d.seq = f.number()
	copy(d.id[:], f.fixed(uint64(len(d.id))))
	d.time = int64(f.number())
	copy(d.payload[:], f.fixed(uint64(len(d.payload))))
	return f.end()
}

func (d *dedup) expired(now int64) bool { return now-d.time >= dedupKept }

// dedupHash names the scope of a client id in a conversation in 16 bytes: a row's key is short whatever the ids are.
// scratch is for the work.
func dedupHash(scratch []byte, sender, device string, client []byte) ([16]byte, []byte) {
	scratch = appendString(scratch[:0], sender)
	scratch = appendString(scratch, device)
	scratch = append(scratch, client...)
	sum := sha256.Sum256(scratch)
	return [16]byte(sum[:16]), scratch
}

func payloadHash(payload []byte) [8]byte {
	sum := sha256.Sum256(payload)
	return [8]byte(sum[:8])
}

// dayOf is the day of a time in Unix milliseconds.
func dayOf(ms int64) uint32 { return uint32(ms / dayMillis) }
