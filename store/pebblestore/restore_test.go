package pebblestore

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"lifeline/store"
	"lifeline/store/storetest"
)

// backedUp is a disk with a backup on it and nothing else, and the epoch of the backup.
func backedUp(t *testing.T) (*memDisk, store.Epoch) {
	t.Helper()
	disk := vfs.NewMem()
	sent(t, disk, 0, 5)
	epoch := epochOf(t, disk)
	crashable := newDisk()
	if _, err := vfs.Clone(disk, crashable, "data/store", "backup", vfs.CloneSync); err != nil {
		t.Fatal(err)
	}
	if err := syncDir(crashable, "/"); err != nil {
		t.Fatal(err)
	}
	return crashable, epoch
}

// cut is what is left of a disk when the power is cut and so much of what was not synced is kept.
func cut(disk *memDisk, percent int) *memDisk {
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(1, 1))})
}

// Killed at any moment, by a power cut or otherwise, a restore leaves no store that has the backup's epoch, and can be
// done again.
func TestInterruptedRestore(t *testing.T) {
	for _, percent := range []int{0, 100} {
		disk, epoch := backedUp(t)
		var mu sync.Mutex // Pebble writes from several goroutines
		var left []*memDisk
		moment := 0
		watched := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if moment++; moment%2 == percent/100 { // the others with the other percentage
				left = append(left, cut(disk, percent))
			}
			return nil
		}))
		if err := (Tool{Dir: "data/store", FS: watched}).Restore("backup"); err != nil {
			t.Fatal(err)
		}
		for i, fs := range append(left, disk) {
			s, err := Open(testOptions(t, cut(fs, 100)))
			whole := false
			if err == nil {
				start, _ := s.Start("bob", "phone")
				whole = start.Head == 5
				if s.Epoch() == epoch {
					t.Errorf("%d %% kept, moment %d of %d: a store with the backup's epoch opens", percent, i, len(left))
				}
				s.Close()
			}
			again := Tool{Dir: "data/store", FS: fs}
			if err := again.Restore("backup"); err != nil && !(whole && strings.Contains(err.Error(), "files in it")) {
				t.Errorf("%d %% kept, moment %d of %d: once more: %v", percent, i, len(left), err)
			}
			if _, err := again.Verify(func(fault string) { t.Error(fault) }); err != nil {
				t.Error(err)
			}
		}
	}
}

// The copy of a store that is being written to would be of no one moment.
func TestRestoreOfARunningStore(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, storetest.Options{})
	if err := (Tool{Dir: "elsewhere", FS: fs}).Restore("data/store"); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("restored: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := (Tool{Dir: "elsewhere", FS: fs}).Restore("data/store"); err != nil {
		t.Error(err)
	}
}

// A backup that holds no store leaves nothing behind.
func TestRestoreOfNothing(t *testing.T) {
	fs := vfs.NewMem()
	writeFile(t, fs, "backup", "README", []byte("the wrong directory"))
	if err := (Tool{Dir: "data/store", FS: fs}).Restore("backup"); err == nil {
		t.Error("restored")
	}
	if names, err := fs.List("data"); err == nil && len(names) > 0 {
		t.Errorf("left %q", names)
	}
}
