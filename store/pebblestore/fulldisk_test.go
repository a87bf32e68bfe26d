//go:build fulldisk

package pebblestore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lifeline/store"
	"lifeline/store/storetest"
)

// TestFullDisk fills a real filesystem of 64 MiB, which it mounts, so it needs a mount namespace of its own: make test-disk.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatalf("mount: %v (is this a mount namespace of its own?)", err)
	}
	defer syscall.Unmount(disk, 0)
	options := testOptions(t, vfs.Default)
	options.Dir = disk + "/store"
	options.MemTableBytes, options.FloorBytes, options.BallastBytes = 1<<20, 16<<20, 4<<20
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	large := func(n int) *store.Send {
		send := directSend(n)
		send.Payload = make([]byte, 20_000)
		rand.Read(send.Payload)
		return send
	}
	var taken []store.Answer
	for n := 0; ; n++ {
		a := storetest.Call(s, large(n))
		if a.Refusal == store.StorageFull {
			break
		}
		if a.Refusal != store.None {
			t.Fatal(a.Refusal)
		}
		taken = append(taken, a)
	}
	t.Logf("%d messages of 20 kB were taken, then sends were refused", len(taken))

	// Something else takes the rest of the disk, and what compactions free.
	filler, err := os.Create(disk + "/filler")
	if err != nil {
		t.Fatal(err)
	}
	fill := func() {
		err := error(nil)
		for err == nil {
			_, err = filler.Write(make([]byte, 64<<10))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
	}
	fill()
	for pos := range uint64(len(taken)) {
		s.Ack(store.Ack{User: "bob", Device: fmt.Sprint("device", pos), Pos: pos, HasPos: true, Leaving: true, Seen: 1})
	}
	poll(t, "the cursors", func() bool { return s.Load().Cursors == 0 })
	poll(t, "the refusal", func() bool {
		fill()
		return s.disk.full()
	})
	if a := storetest.Call(s, large(1_000_000)); a.Refusal != store.StorageFull {
		t.Errorf("a send to a full disk: %v", a.Refusal)
	}
	page, err := s.History(store.HistoryRead{User: "ann", Conversation: store.Direct("ann", "bob"), From: 1, To: 10, MaxBytes: 1 << 20})
	if err != nil || len(page.Messages) != 10 {
		t.Errorf("a read on a full disk: %d messages, %v", len(page.Messages), err)
	}

	if err := errors.Join(filler.Close(), os.Remove(disk+"/filler")); err != nil {
		t.Fatal(err)
	}
	s.disk.bytes = 1 << 20 // a cleaner was there
	deadline := time.Now().Add(crashDeadline)
	for storetest.Call(s, directSend(2_000_000)).Refusal == store.StorageFull {
		if time.Now().After(deadline) {
			t.Fatal("sends are still refused")
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	census, err := Tool{Dir: options.Dir}.Verify(func(fault string) { t.Error(fault) })
	if err != nil || census.Messages != uint64(len(taken))+1 {
		t.Errorf("%d messages are there, %d were taken, %v", census.Messages, len(taken), err)
	}
}
