package loadtest

import (
	"bytes"
	"errors"
	"testing"

	"lifeline/protocol"
)

// rows of frames with bodies of every kind of length: none, one byte of length, two, three.
func rowOfFrames() (wire []byte, want [][]byte) {
	for _, f := range []protocol.Frame{
		&protocol.ProbeAck{},
		&protocol.Ack{Pos: 300, HasPos: true},
		&protocol.Send{ID: 1, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte("c"), Payload: bytes.Repeat([]byte("x"), 200)},
		&protocol.Probe{},
		&protocol.Send{ID: 2, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte("d"), Payload: bytes.Repeat([]byte("y"), 20_000)},
		&protocol.Ping{},
	} {
		one := f.Append(nil)
		want = append(want, one)
		wire = append(wire, one...)
	}
	return wire, want
}

// take reads rows of bytes as a loop does and returns the frames.
func take(t *testing.T, rows ...[]byte) (got [][]byte) {
	t.Helper()
	var part []byte
	for _, data := range rows {
		for len(data) > 0 {
			if part != nil {
				grown, rest, whole, err := join(part, data)
				if err != nil {
					t.Fatal(err)
				}
				part, data = grown, rest
				if whole {
					got, part = append(got, part), nil
				}
				continue
			}
			_, _, rest, size, err := split(data)
			if err != nil {
				t.Fatal(err)
			}
			if size == 0 || len(data) < size {
				part, data = bytes.Clone(data), nil
				continue
			}
			got, data = append(got, data[:size]), rest
		}
	}
	if part != nil {
		t.Fatalf("%d bytes are left", len(part))
	}
	return got
}

func TestFramesSplitAnywhere(t *testing.T) {
	wire, want := rowOfFrames()
	for cut := range len(wire) + 1 {
		if got := take(t, wire[:cut], wire[cut:]); !equal(got, want) {
			t.Fatalf("cut at %d: other frames", cut)
		}
	}
}

func TestFramesByteByByte(t *testing.T) {
	wire, want := rowOfFrames()
	for size := 1; size <= 5; size++ {
		var rows [][]byte
		for from := 0; from < len(wire); from += size {
			rows = append(rows, wire[from:min(from+size, len(wire))])
		}
		if got := take(t, rows...); !equal(got, want) {
			t.Errorf("%d bytes at a time: other frames", size)
		}
	}
}

func equal(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func TestFaultsOfFraming(t *testing.T) {
	for _, tt := range []struct {
		name string
		wire []byte
		want error
	}{
		{"zero length", []byte{0, 4}, protocol.ErrZeroLength},
		{"longer form", []byte{0x81, 0, 4}, protocol.ErrNonMinimal},
		{"four bytes of length", []byte{0xff, 0xff, 0xff, 1}, protocol.ErrOverlong},
		{"longer than a server may send", []byte{0xff, 0xff, 0x7f, 4}, protocol.ErrTooLarge},
	} {
		if _, _, _, _, err := split(tt.wire); !errors.Is(err, tt.want) {
			t.Errorf("%s at once: %v, want %v", tt.name, err, tt.want)
		}
		if _, _, whole, err := join([]byte{}, tt.wire); whole || !errors.Is(err, tt.want) {
			t.Errorf("%s in parts: %v, want %v", tt.name, err, tt.want)
		}
	}
}
