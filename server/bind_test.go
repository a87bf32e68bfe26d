package server

import (
	"net"
	"strings"
	"testing"
)

// Every fault is told, each with what to do.
func TestAddressesThatCannotBeBound(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	busy, foreign := "tcp4://"+taken.Addr().String(), "tcp4://192.0.2.1:7400" // of no machine
	err = testBind([]string{busy, "tcp4://127.0.0.1:0", foreign})
	if err == nil {
		t.Fatal("both could be bound")
	}
	for _, want := range []string{busy + ": another process listens there", foreign + ": this machine has no such address"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}
