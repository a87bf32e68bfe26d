package pebblestore

import (
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// timedFS measures the syncs of Pebble's log, which are what a commit waits for.
type timedFS struct {
	vfs.FS
	observe func(time.Duration)
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
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return &timedFile{f, t.observe}, nil
}

type timedFile struct {
	vfs.File
	observe func(time.Duration)
}

func (f *timedFile) Sync() error {
	began := time.Now()
	err := f.File.Sync()
	f.observe(time.Since(began))
	return err
}

func (f *timedFile) SyncData() error {
	began := time.Now()
	err := f.File.SyncData()
	f.observe(time.Since(began))
	return err
}
