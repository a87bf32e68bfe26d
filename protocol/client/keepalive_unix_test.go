//go:build unix

package client

import (
	"net"
	"syscall"
	"testing"
)

// A system that keeps connections alive by itself would break every silence that is to be measured.
func TestConnectionsAreSilent(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	conn, err := Options{}.withDefaults().Dial(t.Context(), "tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	on, fault := -1, error(nil)
	if err := raw.Control(func(fd uintptr) {
		on, fault = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
	}); err != nil {
		t.Fatal(err)
	}
	if fault != nil || on != 0 {
		t.Errorf("SO_KEEPALIVE is %d, %v", on, fault)
	}
}
