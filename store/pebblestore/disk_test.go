package pebblestore

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"lifeline/store"
	"lifeline/store/storetest"
)

func usage(free uint64) vfs.DiskUsage {
	const total = 100 << 30
	return vfs.DiskUsage{AvailBytes: free, TotalBytes: total, UsedBytes: total - free}
}

// Below the floor what fills the disk is refused before it is queued; all else goes on; it ends by itself.
func TestDiskFloor(t *testing.T) {
	fs := vfs.NewMem()
	options := testOptions(t, fs)
	var log bytes.Buffer
	options.FloorBytes, options.FloorPercent = 2<<30, 5 // of 100 GiB: 5 GiB count
	options.Log = slog.New(slog.NewTextHandler(&log, nil))
	fs.TestingSetDiskUsage(usage(6 << 30))
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Call(s, directSend(0))
	for _, test := range []struct {
		free uint64
		want store.Refusal
	}{
		{5<<30 - 1, store.StorageFull},
		{5 << 30, store.StorageFull}, // a sixteenth more is asked for before it is taken back
		{5<<30 + 5<<30/16, store.None},
		{5 << 30, store.None},
		{1 << 30, store.StorageFull},
		{60 << 30, store.None},
	} {
		fs.TestingSetDiskUsage(usage(test.free))
		s.disk.look()
		if a := storetest.Call(s, directSend(0)); a.Refusal != test.want {
			t.Errorf("with %d MiB free: a send %v", test.free>>20, a.Refusal)
		}
		if a := storetest.Call(s, &store.Members{Group: "tram", Version: test.free}); a.Refusal == store.StorageFull != (test.want == store.StorageFull) {
			t.Errorf("with %d MiB free: members %v", test.free>>20, a.Refusal)
		}
		if a := storetest.Call(s, &store.Forget{User: "bob", Device: "tablet"}); a.Refusal != store.None {
			t.Errorf("with %d MiB free: a forget %v", test.free>>20, a.Refusal)
		}
		s.Ack(store.Ack{User: "bob", Device: "phone", Pos: 1, HasPos: true})
		if start, err := s.Start("bob", "phone"); err != nil || start.Cursor != 1 {
			t.Errorf("with %d MiB free: %+v, %v", test.free>>20, start, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if full := strings.Count(log.String(), "nearly full"); full != 2 {
		t.Errorf("it was said %d times that the disk is nearly full:\n%s", full, &log)
	}
}

// small is a disk on which writes fail while only the ballast could make room.
type small struct {
	vfs.FS
	full    atomic.Bool
	ballast string
}

func (s *small) MaybeError(op errorfs.Op) error {
	switch {
	case op.Kind == errorfs.OpRemove && strings.HasSuffix(op.Path, s.ballast):
		s.full.Store(false)
	case s.full.Load() && op.Kind == errorfs.OpFileWrite:
		return syscall.ENOSPC
	}
	return nil
}

func (s *small) String() string { return "small" }

// A disk that is full all the same costs the ballast and no message; sends are refused until there is space.
func TestBallast(t *testing.T) {
	fs := vfs.NewMem()
	fs.TestingSetDiskUsage(usage(50 << 30))
	disk := &small{ballast: ballastName}
	options := testOptions(t, errorfs.Wrap(fs, disk))
	options.BallastBytes, options.FloorBytes = 1<<20, 16<<20
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat("data/store/" + ballastName); err != nil {
		t.Fatalf("no ballast: %v", err)
	}
	fs.TestingSetDiskUsage(usage(16 << 20)) // the store looks by itself: sends are taken, but a ballast would not be made
	disk.full.Store(true)
	if a := storetest.Call(s, directSend(0)); a.Refusal != store.None {
		t.Errorf("the send that found the disk full: %v", a.Refusal)
	}
	if _, err := fs.Stat("data/store/" + ballastName); err == nil {
		t.Error("the ballast was kept")
	}
	if a := storetest.Call(s, directSend(1)); a.Refusal != store.StorageFull {
		t.Errorf("the send after that: %v", a.Refusal)
	}
	var paused []time.Duration
	s.disk.pause = func(d time.Duration) { paused = append(paused, d) }
	s.disk.exhausted()
	s.disk.exhausted()
	if fmt.Sprint(paused) != "[100ms 100ms]" {
		t.Errorf("without ballast it paused for %v", paused)
	}
	s.disk.spoiled(syscall.EIO)
	s.disk.spoiled(syscall.ENOSPC) // after exhausted
	if len(paused) != 3 {
		t.Errorf("with a table more that could not be written it paused for %v", paused)
	}
	paused = paused[:2]
	fs.TestingSetDiskUsage(usage(50 << 30))
	s.disk.look()
	if a := storetest.Call(s, directSend(1)); a.Refusal != store.None {
		t.Errorf("with space again: %v", a.Refusal)
	}
	if _, err := fs.Stat("data/store/" + ballastName); err != nil {
		t.Errorf("no new ballast: %v", err)
	}
	if s.disk.exhausted(); len(paused) != 2 {
		t.Errorf("with ballast it paused as well: %v", paused)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// late is a disk whose free space is told late.
type late struct {
	vfs.FS
	measured, tell chan struct{}
}

func (l *late) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	usage, err := l.FS.GetDiskUsage(path)
	l.measured <- struct{}{}
	<-l.tell
	return usage, err
}

// Space that was there before a write found none is not taken for space that is there: sends are refused, and the ballast
// stays given up.
func TestExhaustedWhileMeasured(t *testing.T) {
	fs := vfs.NewMem()
	fs.TestingSetDiskUsage(usage(50 << 30))
	writeFile(t, fs, "data", ballastName, nil)
	slow := &late{FS: fs, measured: make(chan struct{}), tell: make(chan struct{})}
	d := &disk{fs: slow, dir: "data", bytes: 1 << 20, ballast: 1 << 20, log: slog.New(slog.DiscardHandler), limit: newLimiter(), pause: func(time.Duration) {}}
	looked, given := make(chan struct{}), make(chan struct{})
	go func() { defer close(looked); d.look() }()
	<-slow.measured
	go func() { defer close(given); d.exhausted() }()
	select {
	case <-given: // before the measure is judged; or it waits until then
	case <-time.After(50 * time.Millisecond):
	}
	close(slow.tell)
	<-looked
	<-given
	if _, err := fs.Stat("data/" + ballastName); err == nil || !d.full() {
		t.Errorf("sends are refused: %v; a look for the ballast: %v", d.full(), err)
	}
}
