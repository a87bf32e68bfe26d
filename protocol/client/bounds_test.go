package client

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"lifeline/protocol"
)

// failingBounds is a full disk.
type failingBounds struct{ MemoryBounds }

func (*failingBounds) Save([]byte) error { return syscall.ENOSPC }

func TestBoundsThatCannotBeStored(t *testing.T) {
	play(t, func(w *world) { inPocket(w); w.o.Bounds = new(failingBounds) }, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, granted)
		l.settle(240)
	})
}

func TestBoundsSurviveTheProcess(t *testing.T) {
	path := FileBounds(filepath.Join(t.TempDir(), "bounds"))
	adjust := func(w *world) { inPocket(w); w.o.Bounds = path }
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, granted)
		l.settle(240)
		l.send(&protocol.Pong{})
		l.expectPing(252*time.Second, 0)
		l.send(&protocol.Pong{})
	})
	play(t, adjust, func(t *testing.T, w *world) {
		expectReported(t, w.at(0).begin(0), homeKey, 168, 240)
	})
	if err := os.WriteFile(string(path), []byte(`{"networks":[{"key":7,"low":168,`), 0o600); err != nil {
		t.Fatal(err)
	}
	play(t, adjust, func(t *testing.T, w *world) {
		expectReported(t, w.at(0).begin(0), homeKey, 0, 0)
	})
}
