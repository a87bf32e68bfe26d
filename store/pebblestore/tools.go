package pebblestore

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"log/slog"
	"syscall"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lifeline/store/commit"
)

// Tool works on the directory of a store that is not running. Only Dir is required.
type Tool struct {
	Dir string
	FS  vfs.FS       // if nil, the disk
	Log *slog.Logger // if nil, slog.Default

	half bool // works on what a Restore has not ended
}

// Verify reads the whole store, changes nothing, and reports what breaks a rule.
func (t Tool) Verify(report func(fault string)) (census commit.Census, err error) {
	err = t.with(true, func(_ *directory, e *engine) error {
		census, err = commit.Verify(e, time.Now(), report)
		return err
	})
	return census, err
}

// NewEpoch gives the store a new history, after which clients fetch what they have again. For a directory that is older
// than what clients have seen.
func (t Tool) NewEpoch() error {
	return t.with(false, func(d *directory, e *engine) error {
		meta, ok, err := commit.ReadMeta(e)
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("no store is here")
		}
		beside, _, err := d.readBeside()
		if err != nil {
			return err
		}
		meta.Epoch, meta.Boot = commit.NewEpoch(), max(meta.Boot, beside)
		return d.write(e, meta)
	})
}

func (t Tool) withDefaults() Tool {
	if t.FS == nil {
		t.FS = vfs.Default
	}
	if t.Log == nil {
		t.Log = slog.Default()
	}
	return t
}

// with opens the store for do. What would end a server is an error here.
func (t Tool) with(readOnly bool, do func(*directory, *engine) error) (err error) {
	t = t.withDefaults()
	if !t.half {
		if err := (&directory{fs: t.FS, path: t.Dir}).refuseHalf(); err != nil {
			return fmt.Errorf("open the store in %s: %w", t.Dir, err)
		}
	}
	d, err := t.hold(t.Dir, readOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.unlock()) }()

	o := Options{Dir: t.Dir, FS: t.FS, Log: t.Log}.withDefaults()
	limit := newLimiter()
	log := &logger{func(error) {}, t.Log, limit}
	counted := newCounters(metrics.NewSet()) // which nobody reads
	p := o.pebbleOptions(nil, log, counted.events(t.Log, limit, func(err error) { log.Errorf("%v", err) }))
	p.FS, p.Lock, p.ReadOnly, p.ErrorIfNotExists = t.FS, d.lock, readOnly, true
	p.CacheSize = 64 << 20
	db, err := openPebble(t.Dir, p, counted.stuck)
	if err != nil {
		return fmt.Errorf("open the store in %s: %w", t.Dir, err)
	}
	e := newEngine(db)
	defer func() { err = errors.Join(err, e.Close()) }()
	return do(d, e)
}

// hold locks the directory of a store that is not running. One that is only read, and may not be written to, goes
// without a lock: on a disk that nobody can write to no server runs, and where this user may not the operator must know.
func (t Tool) hold(dir string, readOnly bool) (*directory, error) {
	desc, err := pebble.Peek(dir, t.FS)
	if errors.Is(err, iofs.ErrNotExist) || err == nil && !desc.Exists {
		return nil, fmt.Errorf("no store is in %s", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", dir, err)
	}
	d, err := lockDirectory(t.FS, dir)
	if !readOnly || !errors.Is(err, syscall.EROFS) && !errors.Is(err, iofs.ErrPermission) {
		return d, err
	}
	if !errors.Is(err, syscall.EROFS) {
		t.Log.Warn("the store may not be locked by this user: see that no server uses it", "dir", dir)
	}
	return lockDirectory(lockless{t.FS}, dir)
}

// lockless is a filesystem whose locks are none.
type lockless struct{ vfs.FS }

func (lockless) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }
