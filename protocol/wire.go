package protocol

import (
	"encoding/binary"
	"math/bits"
)

// Wire types of Protocol Buffers. Groups (3 and 4) are refused [P-3.4].
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func appendUvarint(dst []byte, v uint64) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

func uvarintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// The append functions below take field numbers under 16, whose tag is one byte, except where they say otherwise.
// They leave out a zero value, as implicit presence wants [P-3.1].

func appendUint(dst []byte, field byte, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return appendUintAlways(dst, field, v)
}

func appendUintAlways(dst []byte, field byte, v uint64) []byte {
	return appendUvarint(append(dst, field<<3|wireVarint), v)
}

func appendEnum[E ~int32](dst []byte, field byte, v E) []byte {
	return appendUint(dst, field, uint64(int64(v)))
}

func appendBool(dst []byte, field byte, v bool) []byte {
	if !v {
		return dst
	}
	return append(dst, field<<3|wireVarint, 1)
}

func appendFixed64(dst []byte, field byte, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return binary.LittleEndian.AppendUint64(append(dst, field<<3|wireFixed64), v)
}

func appendBytes(dst []byte, field byte, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	return appendBytesAlways(dst, field, v)
}

func appendBytesAlways(dst []byte, field byte, v []byte) []byte {
	dst = appendUvarint(append(dst, field<<3|wireBytes), uint64(len(v)))
	return append(dst, v...)
}

// appendUintHigh is appendUint for field numbers 16 to 2047, whose tag has two bytes.
func appendUintHigh(dst []byte, field uint16, v uint64) []byte {
	if v == 0 {
		return dst
	}
	tag := field<<3 | wireVarint
	return appendUvarint(append(dst, byte(tag)|0x80, byte(tag>>7)), v)
}

// begin appends what opens a length-prefixed part: the tag and one byte for the length. at is that byte's index.
func begin(dst []byte, field byte) (out []byte, at int) {
	return append(dst, field<<3|wireBytes, 0), len(dst) + 1
}

// beginFrame appends one byte for the length, and the type.
func beginFrame(dst []byte, t Type) (out []byte, at int) {
	return append(dst, 0, byte(t)), len(dst)
}

// end writes the length of all that follows at. One byte was left for it; a longer length moves what follows.
func end(dst []byte, at int) []byte {
	n := len(dst) - at - 1
	if n < 0x80 {
		dst[at] = byte(n)
		return dst
	}
	extra := uvarintSize(uint64(n)) - 1
	for range extra {
		dst = append(dst, 0)
	}
	copy(dst[at+1+extra:], dst[at+1:at+1+n])
	appendUvarint(dst[:at], uint64(n))
	return dst
}

// endOptional is end for a message that is left out when it is empty.
func endOptional(dst []byte, at int) []byte {
	if len(dst) == at+1 {
		return dst[:at-1]
	}
	return end(dst, at)
}
