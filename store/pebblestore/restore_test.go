package pebblestore

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// A restore into its own backup, or of a backup that lies where it must delete, would spoil the backup. It is refused
// before anything is touched, whatever the two are called.
func TestRestoreIntoItsBackup(t *testing.T) {
	root := t.TempDir()
	backup := filepath.Join(root, "backup")
	options := testOptions(t, vfs.Default)
	options.Dir = backup
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(backup, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	// A restore to the directory that they all lie in has not ended.
	writeFile(t, vfs.Default, filepath.Dir(root), filepath.Base(root)+".boot", []byte("1"+restoring))
	t.Chdir(backup)
	before := filesOf(t, vfs.Default, backup)
	for _, dir := range []string{filepath.Join(backup, "sub"), filepath.Join(backup, "a", "b"), backup + "/", filepath.Join(root, "link", "sub"), "sub", ".", root, ".."} {
		for _, from := range []string{backup, filepath.Join(root, "link"), "."} {
			if err := (Tool{Dir: dir}).Restore(from); err == nil || !strings.Contains(err.Error(), "lie in one another") {
				t.Errorf("restored %s to %s: %v", from, dir, err)
			}
			if after := filesOf(t, vfs.Default, backup); !maps.EqualFunc(before, after, bytes.Equal) {
				t.Fatalf("restoring %s to %s changed the backup", from, dir)
			}
		}
	}
	beside := filepath.Join(root, "backup2") // not in it, for all that its name says
	if err := (Tool{Dir: beside}).Restore(backup); err != nil {
		t.Error(err)
	}
}

// What is no whole store is no backup, and nothing of it is copied.
func TestRestoreOfSomethingElse(t *testing.T) {
	for name, tt := range map[string]struct {
		want    string
		prepare func(t *testing.T, fs vfs.FS)
	}{
		"a directory in it": {"sub in it is no file of a store", func(t *testing.T, fs vfs.FS) {
			writeFile(t, fs, "backup/sub", "000002.log", nil)
		}},
		"half of one": {"has not ended", func(t *testing.T, fs vfs.FS) {
			writeFile(t, fs, "", "backup.boot", []byte("3"+restoring))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			disk, _ := backedUp(t)
			tt.prepare(t, disk)
			if err := (Tool{Dir: "data/store", FS: disk}).Restore("backup"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("restored: %v", err)
			}
			if names, err := disk.List("data"); err == nil && len(names) > 0 {
				t.Errorf("left %q", names)
			}
		})
	}
}
