package protocol

import (
	"encoding/binary"
	"unicode/utf8"
)

const maxFieldNumber = 1<<29 - 1

// decoder walks the fields of one body. After next, tag is the field's number << 3 | wire type, and its value is in num
// or data. A field that no case names, or that comes with another wire type, is skipped by asking for the next one.
type decoder struct {
	rest []byte
	tag  uint32
	num  uint64
	data []byte // aliases the body
	err  error
}

// next moves to the next field. It is false at the end and after an error.
func (d *decoder) next() bool {
	if len(d.rest) == 0 || d.err != nil {
		return false
	}
	tag := uint64(d.rest[0])
	if tag < 0x80 {
		d.rest = d.rest[1:]
	} else if tag = d.uvarint(); d.err != nil {
		return false
	}
	if tag>>3 == 0 || tag>>3 > maxFieldNumber {
		return d.fail(ErrTag)
	}
	d.tag = uint32(tag)
	switch tag & 7 {
	case wireVarint:
		if len(d.rest) > 0 && d.rest[0] < 0x80 {
			d.num, d.rest = uint64(d.rest[0]), d.rest[1:]
			return true
		}
		d.num = d.uvarint()
		return d.err == nil
	case wireBytes:
		return d.bytes()
	case wireFixed64:
		if len(d.rest) < 8 {
			return d.fail(ErrTruncated)
		}
		d.num, d.rest = binary.LittleEndian.Uint64(d.rest), d.rest[8:]
		return true
	case wireFixed32: // no field of ours has it; it may be an unknown one
		if len(d.rest) < 4 {
			return d.fail(ErrTruncated)
		}
		d.rest = d.rest[4:]
		return true
	}
	return d.fail(ErrTag)
}

func (d *decoder) bytes() bool {
	var n uint64
	if len(d.rest) > 0 && d.rest[0] < 0x80 {
		n, d.rest = uint64(d.rest[0]), d.rest[1:]
	} else if n = d.uvarint(); d.err != nil {
		return false
	}
	if n > uint64(len(d.rest)) {
		return d.fail(ErrTruncated)
	}
	d.data, d.rest = d.rest[:n:n], d.rest[n:]
	return true
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		if n == 0 && len(d.rest) < binary.MaxVarintLen64 {
			d.fail(ErrTruncated)
		} else {
			d.fail(ErrVarint)
		}
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// fail keeps the first error; nil changes nothing. It is always false.
func (d *decoder) fail(err error) bool {
	if d.err == nil {
		d.err = err
	}
	return false
}

// raw is the field's bytes, nil when empty.
func (d *decoder) raw() []byte {
	if len(d.data) == 0 {
		return nil
	}
	return d.data
}

// text is the field's bytes, checked to be UTF-8 [P-3.5].
func (d *decoder) text() []byte {
	if !utf8.Valid(d.data) {
		d.fail(ErrUTF8)
	}
	return d.raw()
}

// id16 is the field's bytes, checked to be 16 or none [P-3.6].
func (d *decoder) id16() []byte {
	if len(d.data) != 0 && len(d.data) != 16 {
		d.fail(ErrIDLength)
	}
	return d.raw()
}

// code is the field's number as a Code [P-5.2].
func (d *decoder) code() Code {
	if uint32(d.num) > 0xffff {
		d.fail(ErrCodeRange)
	}
	return Code(d.num)
}
