package protocol

import (
	"errors"
	"os"
	"regexp"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

func FuzzConnect(f *testing.F)  { fuzz(f, TypeConnect) }
func FuzzConnack(f *testing.F)  { fuzz(f, TypeConnack) }
func FuzzPing(f *testing.F)     { fuzz(f, TypePing) }
func FuzzPong(f *testing.F)     { fuzz(f, TypePong) }
func FuzzEcho(f *testing.F)     { fuzz(f, TypeEcho) }
func FuzzProbe(f *testing.F)    { fuzz(f, TypeProbe) }
func FuzzProbeAck(f *testing.F) { fuzz(f, TypeProbeAck) }
func FuzzState(f *testing.F)    { fuzz(f, TypeState) }
func FuzzSend(f *testing.F)     { fuzz(f, TypeSend) }
func FuzzSendack(f *testing.F)  { fuzz(f, TypeSendack) }
func FuzzPush(f *testing.F)     { fuzz(f, TypePush) }
func FuzzAck(f *testing.F)      { fuzz(f, TypeAck) }
func FuzzPull(f *testing.F)     { fuzz(f, TypePull) }
func FuzzPulled(f *testing.F)   { fuzz(f, TypePulled) }
func FuzzReauth(f *testing.F)   { fuzz(f, TypeReauth) }
func FuzzBye(f *testing.F)      { fuzz(f, TypeBye) }
func FuzzResult(f *testing.F)   { fuzz(f, TypeResult) }
func FuzzError(f *testing.F)    { fuzz(f, TypeError) }
func FuzzClose(f *testing.F)    { fuzz(f, TypeClose) }
func FuzzPresence(f *testing.F) { fuzz(f, TypePresence) }

func FuzzPresenceList(f *testing.F) { fuzz(f, TypePresenceList) }

// A frame that is defined later gets its target too.
func TestEveryFrameIsFuzzed(t *testing.T) {
	code, err := os.ReadFile("fuzz_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range defined() {
		if !regexp.MustCompile(`(?i)func fuzz` + typ.String() + `\(f \*testing\.F\) +\{ fuzz\(f, type` + typ.String() + `\) \}`).Match(code) {
			t.Errorf("%s has no fuzz target", typ)
		}
	}
}

// fuzz reads any body as one type of frame. Read, written and read again it is the same, and the official runtime finds
// the same in it. What this package refuses the official runtime refuses too, but for the named stricter rules.
func fuzz(f *testing.F, typ Type) {
	for _, v := range vectors(f) {
		if h, n, err := ReadHeader(v.wire, v.max); err == nil && n > 0 && h.Type == typ {
			f.Add(v.wire[n:])
		}
	}
	m := descriptor(f, typ)
	f.Fuzz(func(t *testing.T, body []byte) {
		official := dynamicpb.NewMessage(m)
		officialErr := proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, official)
		got := New(typ)
		err := got.Parse(body)
		switch {
		case err != nil && !known(err):
			t.Fatalf("error %v is not in the closed set", err)
		case err == nil && officialErr != nil:
			t.Fatalf("accepted; official runtime: %v", officialErr)
		case err == nil:
			dropEmpty(official)
			sameAsOfficial(t, got, official)
		case officialErr == nil && !stricter(err):
			t.Fatalf("%v; the official runtime accepted", err)
		}
	})
}

// stricter names the errors for what Protocol Buffers allows: ids of other sizes, codes above 16 bits, groups.
func stricter(err error) bool {
	return errors.Is(err, ErrIDLength) || errors.Is(err, ErrCodeRange) || errors.Is(err, ErrTag)
}

// FuzzReadHeader holds the header's reader against its rules, written a second time.
func FuzzReadHeader(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.wire, v.max)
	}
	f.Fuzz(func(t *testing.T, b []byte, max int) {
		max = min(max&MaxLength, MaxLength)
		h, n, err := ReadHeader(b, max)
		switch {
		case err != nil && !known(err):
			t.Fatalf("error %v is not in the closed set", err)
		case err == nil && n == 0 && len(b) >= MaxHeader:
			t.Fatalf("% x is not a header yet", b[:MaxHeader])
		case err == nil && n > 0:
			again := append(appendUvarint(nil, uint64(h.Body+1)), byte(h.Type))
			if h.Body < 0 || h.Body >= max || string(again) != string(b[:n]) {
				t.Fatalf("% x reads as %v", b[:n], h)
			}
		}
	})
}

// FuzzID: an id that is valid never holds what joins two of them.
func FuzzID(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.wire)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := ValidID(b); got != validID(string(b)) {
			t.Fatalf("%q: %v", b, got)
		}
	})
}
