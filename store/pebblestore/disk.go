package pebblestore

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	ballastName = "BALLAST"
	lookEvery   = time.Second
	retryPause  = 100 * time.Millisecond
)

// disk watches the free space of a store's directory. Below the floor it says that sends must be refused; when a write
// finds no space all the same it gives up the ballast, so that what was begun can end.
type disk struct {
	// Set at construction.
	fs      vfs.FS
	dir     string
	bytes   uint64
	percent float64
	ballast int64
	log     *slog.Logger
	limit   *limiter
	pause   func(time.Duration)

	low  atomic.Bool
	free atomic.Uint64

	// Guarded by mu: what was measured is judged, and the ballast made, before it is measured or given up again.
	mu   sync.Mutex
	held bool // the ballast is there
}

// full is asked at every Submit.
func (d *disk) full() bool { return d.low.Load() }

// look measures. The floor must be exceeded by a sixteenth before sends are taken again.
func (d *disk) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	usage, err := d.fs.GetDiskUsage(d.dir)
	if err != nil {
		if d.limit.allow("usage") {
			d.log.Warn("the free space of the disk cannot be measured", "dir", d.dir, "error", err)
		}
		return
	}
	d.free.Store(usage.AvailBytes)
	floor := max(d.bytes, uint64(max(d.percent, 0)/100*float64(usage.TotalBytes)))
	switch low := d.low.Load(); {
	case !low && usage.AvailBytes < floor:
		d.low.Store(true)
		d.log.Error("the disk is nearly full: sends are refused until there is space", "dir", d.dir, "free", usage.AvailBytes, "floor", floor)
	case low && usage.AvailBytes >= floor+floor/16:
		d.low.Store(false)
		d.log.Info("there is space on the disk again: sends are taken", "dir", d.dir, "free", usage.AvailBytes, "floor", floor)
	}
	if d.ballast > 0 && !d.held && usage.AvailBytes >= floor+floor/16+uint64(d.ballast) {
		d.hold()
	}
}

// hold makes the ballast, or takes the one that is there. Called with mu held.
func (d *disk) hold() {
	f, err := d.fs.Create(d.fs.PathJoin(d.dir, ballastName), vfs.WriteCategoryUnspecified)
	if err == nil {
		err = f.Preallocate(0, d.ballast)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		if d.limit.allow("ballast") {
			d.log.Warn("no ballast file could be made", "dir", d.dir, "error", err)
		}
		return
	}
	d.held = true
}

// exhausted is called when a write found no space; the write is tried once more when it returns. When there is no ballast
// to give up it takes its time: Pebble writes a table that failed again at once, and would keep a core busy until there
// is space.
func (d *disk) exhausted() {
	err := d.giveUp()
	if err == nil {
		d.log.Error("the disk is full: the ballast file is given up", "dir", d.dir)
		return
	}
	if d.limit.allow("exhausted") {
		d.log.Error("the disk is full, and there is no ballast file to give up: make space", "dir", d.dir, "error", err)
	}
	d.pause(retryPause)
}

// spoiled is called when a table cannot be written. It takes its time as exhausted does, which has had it already when
// there was no space.
func (d *disk) spoiled(err error) {
	if !errors.Is(err, syscall.ENOSPC) {
		d.pause(retryPause)
	}
}

// giveUp has sends refused, and removes the ballast.
func (d *disk) giveUp() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.low.Store(true)
	d.held = false
	ballast := d.fs.PathJoin(d.dir, ballastName)
	if _, err := d.fs.Stat(ballast); err != nil {
		return err
	}
	return d.fs.Remove(ballast)
}
