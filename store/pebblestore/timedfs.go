package pebblestore

import (
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// timedFS measures the syncs of Pebble's log, which are what a commit waits for, and tells of what failed there and with
// tables. Pebble itself would say so of most, but panics where it goes on with another log, and the panic hides the cause;
// and a table it tells of only with its lock held.
type timedFS struct {
	vfs.FS
	observe     func(time.Duration)
	logFailed   func(error)
	tableFailed func(error) // on the goroutine that writes it, with no lock held
}

func (t *timedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := t.FS.Create(name, category)
	return t.wrap(name, f, err)
}

func (t *timedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := t.FS.ReuseForWrite(oldname, newname, category)
	return t.wrap(newname, f, err)
}

func (t *timedFS) Unwrap() vfs.FS { return t.FS }

func (t *timedFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	timed := &timedFile{f, t.observe, t.logFailed}
	switch {
	case strings.HasSuffix(name, ".log"):
	case strings.HasSuffix(name, ".sst"):
		timed.observe, timed.failed = func(time.Duration) {}, t.tableFailed
	default:
		return f, err
	}
	if err != nil {
		return nil, timed.tell(err)
	}
	return timed, nil
}

type timedFile struct {
	vfs.File
	observe func(time.Duration)
	failed  func(error)
}

func (f *timedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.tell(err)
}

func (f *timedFile) tell(err error) error {
	if err != nil {
		f.failed(err)
	}
	return err
}

func (f *timedFile) Sync() error {
	began := time.Now()
	err := f.File.Sync()
	f.observe(time.Since(began))
	return f.tell(err)
}

func (f *timedFile) SyncData() error {
	began := time.Now()
	err := f.File.SyncData()
	f.observe(time.Since(began))
	return f.tell(err)
}
