package protocol

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// known tells whether an error is one that the package promises.
func known(err error) bool {
	for _, e := range outcomes {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// [P-1.3]: a stream that ends inside a frame leaves a header of at most three bytes, or a known length.
func TestHeaderTruncated(t *testing.T) {
	list, types, bodies := frames(t)
	for i, v := range list {
		size := len(v.wire) - len(bodies[i])
		for cut := range v.wire {
			h, n, err := ReadHeader(v.wire[:cut], v.max)
			switch {
			case err != nil:
				t.Errorf("%s cut at %d: %v", v.name, cut, err)
			case cut < size && (n != 0 || cut >= MaxHeader):
				t.Errorf("%s cut at %d: a header of %d bytes", v.name, cut, n)
			case cut >= size && (n != size || h.Type != types[i] || h.Body != len(bodies[i])):
				t.Errorf("%s cut at %d: %v in %d bytes", v.name, cut, h, n)
			}
		}
	}
}

// [P-8.3]: a body cut between two fields reads as what is left; cut anywhere else it is refused.
func TestBodyTruncated(t *testing.T) {
	list, types, bodies := frames(t)
	for i, v := range list {
		between := map[int]bool{0: true}
		for at := 0; at < len(bodies[i]); {
			_, _, n := protowire.ConsumeField(bodies[i][at:])
			at += n
			between[at] = true
		}
		for cut := range bodies[i] {
			err := New(types[i]).Parse(bodies[i][:cut])
			if (err == nil) != between[cut] || err != nil && !known(err) {
				t.Errorf("%s cut at %d: %v", v.name, cut, err)
			}
		}
	}
}

// [P-1.4]: a frame one byte above the limit is refused by its length alone; at the limit it is not.
func TestFrameTooLarge(t *testing.T) {
	for _, max := range []int{1, 127, 128, MaxPreAuth, DefaultMaxPayload + FrameOverhead, PayloadCeiling + FrameOverhead} {
		fits := append(appendUvarint(nil, uint64(max)), byte(TypeSend))
		if h, n, err := ReadHeader(fits, max); err != nil || n != len(fits) || h.Body != max-1 {
			t.Errorf("length %d of %d: %v, %d, %v", max, max, h, n, err)
		}
		above := appendUvarint(nil, uint64(max+1))
		allocs := testing.AllocsPerRun(100, func() {
			if _, n, err := ReadHeader(above, max); err != ErrTooLarge || n != 0 {
				t.Errorf("length %d of %d: %d, %v", max+1, max, n, err)
			}
		})
		if allocs != 0 {
			t.Errorf("length %d of %d: %v allocations", max+1, max, allocs)
		}
	}
}

// [P-8.4]: with any inner length one too large a body never reads beyond its end and never costs memory for bytes that
// are not there. When the part with that length was the last of what encloses it, it is refused as truncated.
func TestInnerLengthTooLarge(t *testing.T) {
	list, types, bodies := frames(t)
	tried := 0
	for i, v := range list {
		for _, length := range innerLengths(bodies[i], descriptor(t, types[i])) {
			tried++
			damaged := bytes.Clone(bodies[i])
			damaged[length.at]++
			f := New(types[i])
			err := f.Parse(damaged)
			if err != nil && !known(err) || length.last && err == nil {
				t.Errorf("%s, length at %d of the body: %v", v.name, length.at, err)
			}
			if allocs := testing.AllocsPerRun(10, func() { f.Parse(damaged) }); allocs != 0 {
				t.Errorf("%s, length at %d of the body: %v allocations", v.name, length.at, allocs)
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d lengths tried", tried)
	}
}

type innerLength struct {
	at   int  // of its first byte in the body
	last bool // nothing follows in the enclosing message
}

// innerLengths finds the first byte of every length in a body. Lengths whose first byte would overflow are left out.
func innerLengths(body []byte, m protoreflect.MessageDescriptor) []innerLength {
	var list []innerLength
	for at := 0; at < len(body); {
		num, typ, n := protowire.ConsumeTag(body[at:])
		size := protowire.ConsumeFieldValue(num, typ, body[at+n:])
		start := at + n
		at = start + size
		if typ != protowire.BytesType {
			continue
		}
		if body[start]&0x7f != 0x7f {
			list = append(list, innerLength{start, at == len(body)})
		}
		value, k := protowire.ConsumeBytes(body[start:])
		inside := k - len(value)
		if field := m.Fields().ByNumber(num); field != nil && field.Message() != nil {
			for _, inner := range innerLengths(value, field.Message()) {
				list = append(list, innerLength{start + inside + inner.at, inner.last})
			}
		}
	}
	return list
}

// Every length below the largest, in its one form: what is appended is read, and every longer form is refused [P-1.2].
func TestHeaderForms(t *testing.T) {
	for length := 1; length <= MaxLength; length += 1 + length/64 {
		wire := append(appendUvarint(nil, uint64(length)), byte(TypePing))
		if h, n, err := ReadHeader(wire, MaxLength); err != nil || n != len(wire) || h.Body != length-1 || h.Type != TypePing {
			t.Fatalf("length %d: %v, %d, %v", length, h, n, err)
		}
		longer := bytes.Clone(wire[:len(wire)-1])
		longer[len(longer)-1] |= 0x80
		want := ErrNonMinimal
		if len(longer) == 3 {
			want = ErrOverlong
		}
		if _, _, err := ReadHeader(append(longer, 0, byte(TypePing)), MaxLength); err != want {
			t.Fatalf("length %d in one byte more: %v", length, err)
		}
	}
}
