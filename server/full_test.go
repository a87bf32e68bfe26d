package server

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"lifeline/protocol"
)

// TestOneTooManyIsToldSo on a real socket, before it has said anything [P-6.43].
func TestOneTooManyIsToldSo(t *testing.T) {
	addr := freeListener(t)
	n := runNode(t, "tcp4://"+addr)
	var last net.Conn
	for i := range 101 {
		eventually(t, "those before are accepted", func() bool { return n.core.Connections() == i })
		conn, err := net.Dial("tcp4", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		last = conn
	}
	_ = last.SetReadDeadline(time.Now().Add(20 * time.Second))
	got, err := io.ReadAll(last)
	if err != nil {
		t.Fatal(err)
	}
	want := (&protocol.Close{Status: protocol.CodeTooManyConnections.Status()}).Append(nil)
	if !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}
