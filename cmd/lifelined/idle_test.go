//go:build !race

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// idleConnections and idleBytes: what an idle authenticated connection may cost in resident memory of the server. Both
// ends are processes of their own, for each may hold 20,000 descriptors where this was written.
const (
	idleConnections = 15_000
	idleBytes       = 1000
)

// TestBytesPerIdleConnection counts resident memory, from a server that has served a few clients to one that holds
// idleConnections, after the garbage of the log-ins has gone back to the system.
func TestBytesPerIdleConnection(t *testing.T) {
	s := serve(t, "")
	warm := child(t, "dialler", "", s.addr, "200")
	eventually(t, "the warm-up is connected", func() bool { return strings.Contains(warm.said(), "holding 200") })
	warm.kill()
	before := settled(t, s.cmd.Process.Pid)
	d := child(t, "dialler", "", s.addr, strconv.Itoa(idleConnections))
	within(t, crowdPatience, "all are connected", func() bool {
		select {
		case <-d.ended:
			t.Fatalf("the dialler ended: %s", d.said())
		default:
		}
		return strings.Contains(d.said(), fmt.Sprint("holding ", idleConnections))
	})
	after := settled(t, s.cmd.Process.Pid)
	// After slow log-ins, the last garbage waits for the collection that the runtime makes every two minutes.
	for deadline := time.Now().Add(crowdPatience); after-before > idleBytes*idleConnections && time.Now().Before(deadline); {
		after = min(after, settled(t, s.cmd.Process.Pid))
	}
	per := (after - before) / idleConnections
	t.Logf("%d connections: %d KiB before, %d KiB after: %d bytes per connection", idleConnections, before>>10, after>>10, per)
	if per > idleBytes {
		t.Errorf("%d bytes per idle connection, want at most %d", per, idleBytes)
	}
}

// settled returns the least resident memory seen over a while.
func settled(t *testing.T, pid int) int {
	t.Helper()
	least := resident(t, pid)
	for range 80 {
		<-time.After(100 * time.Millisecond)
		least = min(least, resident(t, pid))
	}
	return least
}

// resident returns the anonymous resident memory of a process in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(l, "RssAnon:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("no RssAnon in /proc")
	return 0
}
