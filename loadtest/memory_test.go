//go:build !race

package loadtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// idleBytes is what an idle connection may cost this client, gnet's objects and the runtime's room included.
const idleBytes = 1024

// TestBytesPerIdleConnection counts the resident memory of a process that does nothing else. What else a machine does only
// adds to it (threads, stacks of dials that had to wait), so the least of a few processes counts.
func TestBytesPerIdleConnection(t *testing.T) {
	r := idleProcess(t)
	for again := 0; again < 4 && r.Bytes > idleBytes; again++ {
		r = idleProcess(t)
	}
	if r.Connections.Connected != idleConnections || r.Bytes <= 0 || r.Bytes > idleBytes {
		t.Errorf("%d bytes for each of %d connections, want at most %d for each of %d", r.Bytes, r.Connections.Connected, idleBytes, idleConnections)
	}
}

// idleProcess is the last report of a process that holds idle connections.
func idleProcess(t *testing.T) (r IdleReport) {
	cmd := exec.Command(os.Args[0], serveStub(t, nil).target().Server)
	cmd.Env = append(os.Environ(), roleVariable+"=idle")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for reports := json.NewDecoder(bytes.NewReader(out)); reports.More(); {
		if err := reports.Decode(&r); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d connections: %d bytes each", r.Connections.Connected, r.Bytes)
	return r
}
