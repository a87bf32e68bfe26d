package protocol

import (
	"encoding/binary"
	"unicode/utf8"
)

const maxFieldNumber = 1<<29 - 1

// decoder walks the fields of one body. After next, tag is the field's number << 3 | wire type; its value is num, or the
// num bytes before pos. A field that no case names, or that comes with another wire type, is skipped by the next next
// [P-3.2]; a field that comes twice is seen twice, so the last one wins [P-3.3].
type decoder struct {
	body []byte
	pos  int // invariant: 0 <= pos <= len(body); after an error it is len(body)
	tag  uint32
	num  uint64
	err  error
}

// next moves to the next field. It is false at the end and after an error. A body that is cut between two fields is a body
// [P-8.3]; a length that leads out of it is a fault before anything is done with it [P-8.4].
func (d *decoder) next() bool {
	body, pos := d.body, d.pos
	if pos >= len(body) {
		return false
	}
	tag := uint64(body[pos])
	pos++
	if tag >= 0x80 {
		var err error
		if tag, pos, err = uvarint(body, pos-1); err != nil {
			return d.fail(err)
		}
	}
	if tag>>3 == 0 || tag>>3 > maxFieldNumber {
		return d.fail(ErrTag)
	}
	d.tag = uint32(tag)
	if wire := tag & 7; wire != wireVarint && wire != wireBytes {
		return d.fixed(pos)
	}
	var num uint64
	if pos < len(body) && body[pos] < 0x80 {
		num, pos = uint64(body[pos]), pos+1
	} else {
		var err error
		if num, pos, err = uvarint(body, pos); err != nil {
			return d.fail(err)
		}
	}
	if tag&7 == wireBytes {
		if num > uint64(len(body)-pos) {
			return d.fail(ErrTruncated)
		}
		pos += int(num)
	}
	d.num, d.pos = num, pos
	return true
}

// fixed reads a value of fixed size at pos. No field of ours has four bytes; an unknown one may.
func (d *decoder) fixed(pos int) bool {
	rest := d.body[pos:]
	switch wire := d.tag & 7; {
	case wire == wireFixed64 && len(rest) >= 8:
		d.num, d.pos = binary.LittleEndian.Uint64(rest), pos+8
		return true
	case wire == wireFixed32 && len(rest) >= 4:
		d.num, d.pos = uint64(binary.LittleEndian.Uint32(rest)), pos+4
		return true
	case wire == wireFixed64 || wire == wireFixed32:
		return d.fail(ErrTruncated)
	}
	return d.fail(ErrTag)
}

// uvarint reads a varint at pos, in any of its forms: only the frame's length must be minimal.
func uvarint(body []byte, pos int) (v uint64, after int, err error) {
	for shift := 0; pos < len(body); shift += 7 {
		c := body[pos]
		pos++
		if shift == 63 && c > 1 {
			return 0, 0, ErrVarint
		}
		v |= uint64(c&0x7f) << (shift & 63)
		if c < 0x80 {
			return v, pos, nil
		}
	}
	return 0, 0, ErrTruncated
}

// fail keeps the first error and ends the walk; nil changes nothing. It is always false.
func (d *decoder) fail(err error) bool {
	if err != nil {
		if d.err == nil {
			d.err = err
		}
		d.pos = len(d.body)
	}
	return false
}

// data is the field's bytes, aliasing the body.
func (d *decoder) data() []byte {
	from := d.pos - int(d.num)
	return d.body[from:d.pos:d.pos]
}

// raw is data, nil when empty.
func (d *decoder) raw() []byte {
	if d.num == 0 {
		return nil
	}
	return d.data()
}

// text is raw, checked to be UTF-8 [P-3.5].
func (d *decoder) text() []byte {
	v := d.raw()
	for _, c := range v {
		if c >= utf8.RuneSelf {
			if !utf8.Valid(v) {
				d.fail(ErrUTF8)
			}
			break
		}
	}
	return v
}

// id16 is raw, checked to be 16 bytes or none [P-3.6].
func (d *decoder) id16() []byte {
	v := d.raw()
	if len(v) != 0 && len(v) != 16 {
		d.fail(ErrIDLength)
	}
	return v
}

// code is the field's number as a Code [P-5.2].
func (d *decoder) code() Code {
	if uint32(d.num) > 0xffff {
		d.fail(ErrCodeRange)
	}
	return Code(d.num)
}
