package commit

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Every value begins with the version of its form. A reader refuses what it does not know, so a later form is a new
// version and an old server never misreads it. Then come the fields: a number is a uvarint, an id its length and bytes.
const valueVersion = 1

var (
	errMalformed = errors.New("malformed value")
	errMissing   = errors.New("missing")
	errHole      = errors.New("missing in a row of numbers without holes")
)

func appendString[T string | []byte](dst []byte, s T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// fields takes a value apart. After the first field that is not there every other is empty, and end says so.
type fields struct {
	rest []byte
	bad  bool
}

func parse(value []byte) fields {
	if len(value) == 0 || value[0] != valueVersion {
		return fields{bad: true}
	}
	return fields{rest: value[1:]}
}

func (f *fields) number() uint64 {
	n, size := binary.Uvarint(f.rest)
	if size <= 0 {
		f.fail()
		return 0
	}
	f.rest = f.rest[size:]
	return n
}

func (f *fields) byte() byte {
	if b := f.fixed(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// fixed returns the next n bytes, or none of them.
func (f *fields) fixed(n uint64) []byte {
	if n > uint64(len(f.rest)) {
		f.fail()
		return nil
	}
	b := f.rest[:n:n]
	f.rest = f.rest[n:]
	return b
}

func (f *fields) bytes() []byte { return f.fixed(f.number()) }

func (f *fields) more() bool { return len(f.rest) > 0 }

func (f *fields) fail() { f.rest, f.bad = nil, true }

// end reports whether every field was there and nothing is left over.
func (f *fields) end() error {
	if f.bad || f.more() {
		return errMalformed
	}
	return nil
}

// keyError names the key that an error is about.
func keyError(key []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("key %q: %w", key, err)
}
