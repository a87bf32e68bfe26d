package pebblestore

import (
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// timedFS measures the syncs of Pebble's log, which are what a commit waits for, and tells of what failed there. Pebble
// itself would say so of most, but panics where it goes on with another log, and the panic hides the cause.
type timedFS struct {
	vfs.FS
	observe func(time.Duration)
	failed  func(error)
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
	if !strings.HasSuffix(name, ".log") {
		return f, err
	}
	if err != nil {
		t.failed(err)
		return nil, err
	}
	return &timedFile{f, t.observe, t.failed}, nil
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
