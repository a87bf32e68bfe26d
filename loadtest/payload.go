package loadtest

import (
	"bytes"
	"encoding/binary"
)

// A payload is a head and a filling that is the same for the whole run. The head's first part is also the client id of
// the message.
const (
	clientIDBytes = 16                // whose message, which number
	headBytes     = clientIDBytes + 8 // and when it was due, on the run's clock
)

// newPayload is a payload of a size, at least headBytes, with its filling.
func newPayload(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte('a' + i%26)
	}
	return b
}

func writeHead(payload []byte, writer, number uint64, stamp int64) {
	binary.LittleEndian.PutUint64(payload, writer)
	binary.LittleEndian.PutUint64(payload[8:], number)
	binary.LittleEndian.PutUint64(payload[16:], uint64(stamp))
}

// readHead reads a payload that must be like ours, of the writer.
func readHead(payload, like []byte, writer uint64) (number uint64, stamp int64, ok bool) {
	if len(payload) != len(like) || !bytes.Equal(payload[headBytes:], like[headBytes:]) {
		return 0, 0, false
	}
	number, ok = readClientID(payload[:clientIDBytes], writer)
	return number, int64(binary.LittleEndian.Uint64(payload[16:])), ok
}

func readClientID(id []byte, writer uint64) (number uint64, ok bool) {
	if len(id) != clientIDBytes || binary.LittleEndian.Uint64(id) != writer {
		return 0, false
	}
	return binary.LittleEndian.Uint64(id[8:]), true
}
