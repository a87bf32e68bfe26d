package redistest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports of tests lie below those that systems give to sockets by themselves, so that no outgoing connection and nobody who asks
// for any port takes one before the process that it is meant for has started, or while that is started again.
const (
	firstPort = 11_000
	ports     = 20_000
)

// FreeAddr finds an address that nobody uses, and keeps it from other tests, in other processes too, until the test ends.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	for range ports {
		port := firstPort + rand.IntN(ports)
		claim, err := net.Listen("unix", fmt.Sprintf("@lifeline-test-port-%d", port)) // abstract: it is gone with the process
		if err != nil {
			continue
		}
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		if l, err := net.Listen("tcp4", addr); err == nil {
			_ = l.Close()
			tb.Cleanup(func() { _ = claim.Close() })
			return addr
		}
		_ = claim.Close()
	}
	tb.Fatal("no port is free")
	return ""
}
