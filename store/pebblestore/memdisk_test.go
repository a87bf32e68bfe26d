package pebblestore

import (
	"io"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// memDisk is a disk in memory whose power can be cut at any moment. Of a vfs.MemFS it cannot: some operations lock it for
// reading and then once more, and a CrashClone that comes between the two waits for the first and keeps the second
// waiting, both for ever. So these take turns with it.
type memDisk struct {
	*vfs.MemFS
	turn sync.Mutex
}

func newDisk() *memDisk { return &memDisk{MemFS: vfs.NewCrashableMem()} }

func (d *memDisk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.turn.Lock()
	defer d.turn.Unlock()
	return d.MemFS.ReuseForWrite(oldname, newname, category)
}

func (d *memDisk) Lock(name string) (io.Closer, error) {
	d.turn.Lock()
	defer d.turn.Unlock()
	return d.MemFS.Lock(name)
}

func (d *memDisk) Link(oldname, newname string) error {
	d.turn.Lock()
	defer d.turn.Unlock()
	return d.MemFS.Link(oldname, newname)
}

func (d *memDisk) CrashClone(c vfs.CrashCloneCfg) *memDisk {
	d.turn.Lock()
	defer d.turn.Unlock()
	return &memDisk{MemFS: d.MemFS.CrashClone(c)}
}

// The power is cut while a log is used again, the directory is locked, and a file gets a second name.
func TestMemDiskIsCutAtAnyMoment(t *testing.T) {
	disk := newDisk()
	writeFile(t, disk, "data", "log", nil)
	for name, operation := range map[string]func() error{
		"reuse": func() error {
			f, err := disk.ReuseForWrite("data/log", "data/log", vfs.WriteCategoryUnspecified)
			if err == nil {
				err = f.Close()
			}
			return err
		},
		"lock": func() error {
			lock, err := disk.Lock("data/LOCK")
			if err == nil {
				err = lock.Close()
			}
			return err
		},
		"link": func() error {
			if err := disk.Link("data/log", "data/second"); err != nil {
				return err
			}
			return disk.Remove("data/second")
		},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 2)
			go func() {
				for range 30_000 {
					disk.CrashClone(vfs.CrashCloneCfg{})
				}
				done <- nil
			}()
			go func() {
				err := error(nil)
				for n := 0; n < 30_000 && err == nil; n++ {
					err = operation()
				}
				done <- err
			}()
			for range 2 {
				select {
				case err := <-done:
					if err != nil {
						t.Error(err)
					}
				case <-time.After(crashDeadline):
					t.Fatal("they wait for each other")
				}
			}
		})
	}
}
