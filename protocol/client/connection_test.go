package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"lifeline/protocol"
)

// What comes is cut into frames whatever the pieces it comes in, and kept in its order [P-1.9].
func TestFramesAreReadFromAnyPieces(t *testing.T) {
	var wire []byte
	wire = (&protocol.Pong{Head: 300}).Append(wire)
	wire = append(wire, 3, 0x80, 1, 2) // a type that may be ignored
	wire = (&protocol.Probe{}).Append(wire)
	wire = push(1, "a", strings.Repeat("long ", 2000)).Append(wire)
	wire = (&protocol.Close{Status: protocol.CodeBusy.Status()}).Append(wire)
	want := []protocol.Type{protocol.TypePong, protocol.TypeProbe, protocol.TypePush, protocol.TypeClose}
	for size := 1; size < 64; size++ {
		in := bufio.NewReaderSize(&pieces{wire, size}, 16)
		var got []protocol.Type
		for {
			batch, err := quietConnection().readBatch(in)
			for _, f := range batch {
				got = append(got, f.Type())
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("pieces of %d: %v", size, err)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("pieces of %d: read %v, want %v", size, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("pieces of %d: read %v, want %v", size, got, want)
			}
		}
	}
}

func quietConnection() *connection { return &connection{log: slog.New(slog.DiscardHandler)} }

// A newer server may send frames of other types. They are passed over; one that should have been understood is logged
// [P-2.2].
func TestFramesOfTheFutureArePassedOver(t *testing.T) {
	for wire, logged := range map[string]string{"\x01\x7f": "0x7f", "\x02\x60\x05": "0x60", "\x01\xc0": "0xc0", "\x01\x80": "", "\x03\xbf\x01\x02": ""} {
		var text bytes.Buffer
		c := &connection{log: slog.New(slog.NewTextHandler(&text, nil))}
		pong := string((&protocol.Pong{}).Append(nil))
		batch, err := c.readBatch(bufio.NewReader(strings.NewReader(wire + pong)))
		if err != nil || len(batch) != 1 || batch[0].Type() != protocol.TypePong {
			t.Errorf("%x: read %v %v", wire, batch, err)
		}
		if logged == "" && text.Len() != 0 || !strings.Contains(text.String(), logged) {
			t.Errorf("%x: logged %q, want %q in it", wire, text.String(), logged)
		}
	}
}

// pieces gives n bytes at a time.
type pieces struct {
	rest []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.n, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

func TestBytesThatAreNoFrames(t *testing.T) {
	for _, tt := range []struct {
		name string
		wire string
		want error
	}{
		{"nothing", "", io.EOF},
		{"part of a header", "\x85", io.ErrUnexpectedEOF},
		{"part of a body", "\x05\x05\x10", io.ErrUnexpectedEOF},
		{"no length", "\x00", protocol.ErrZeroLength},
		{"a long length", "\xff\xff\xff\x01", protocol.ErrOverlong},
		{"too much", "\xff\xff\x7f\x0c", protocol.ErrTooLarge},
		{"a client's type", "\x01\x04", errDirection},
		{"a bad body", "\x02\x05\x10", protocol.ErrTruncated},
	} {
		batch, err := quietConnection().readBatch(bufio.NewReader(strings.NewReader(tt.wire)))
		if !errors.Is(err, tt.want) || len(batch) != 0 {
			t.Errorf("%s: %v %v, want %v", tt.name, batch, err, tt.want)
		}
	}
}

// The frames before an error are delivered with it: the last may be the Close that explains it.
func TestFramesBeforeAnErrorCount(t *testing.T) {
	wire := (&protocol.Close{Status: protocol.CodeKicked.Status()}).Append(nil)
	batch, err := quietConnection().readBatch(bufio.NewReader(bytes.NewReader(append(wire, 0))))
	if len(batch) != 1 {
		t.Fatalf("read %v %v", batch, err)
	}
}

// deaf fails every write; what its peer wrote before can still be read.
type deaf struct{ net.Conn }

func (d deaf) Write([]byte) (int, error) { return 0, errNoRoute }

func TestCloseIsReadAfterAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, peer := net.Pipe()
		c := newConnection(deaf{mine}, slog.New(slog.DiscardHandler))
		c.send(&protocol.Ping{})
		synctest.Wait()
		if _, err := peer.Write((&protocol.Close{Status: protocol.CodeKicked.Status()}).Append(nil)); err != nil {
			t.Fatalf("the connection was closed at once: %v", err)
		}
		if batch := <-c.frames; len(batch) != 1 {
			t.Errorf("read %v", batch)
		}
		if _, more := <-c.frames; more || c.lost() == nil {
			t.Errorf("the connection lives on: %v", c.lost())
		}
		c.close()
		_ = peer.Close()
	})
}
