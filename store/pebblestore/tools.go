package pebblestore

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"log/slog"
	"syscall"
	"time"

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

// Restore copies a backup, which is the directory of a store that is not running, to Dir, which must not exist or be
// empty, and gives it a new history. What an earlier Restore that did not end has left in Dir is deleted. Until this one
// has ended Dir is refused by everybody else.
func (t Tool) Restore(backup string) error {
	t = t.withDefaults()
	t.half = true
	d := &directory{fs: t.FS, path: t.Dir}
	boot, half, err := d.readBeside()
	if err != nil {
		return err
	}
	old, err := d.files()
	if err == nil && len(old) > 0 && !half {
		err = errors.New("there are files in it; nothing was changed")
	}
	if err != nil {
		return fmt.Errorf("restore to %s: %w", t.Dir, err)
	}
	from, err := holdBackup(t.FS, backup)
	if err != nil {
		return fmt.Errorf("restore from %s: %w", backup, err)
	}
	defer func() { _ = from.unlock() }() // it was only read
	if err := makeDir(t.FS, t.Dir); err != nil {
		return fmt.Errorf("restore to %s: %w", t.Dir, err)
	}
	if err := d.writeBeside(boot, restoring); err != nil {
		return err
	}
	for _, name := range old {
		if err := t.FS.RemoveAll(t.FS.PathJoin(t.Dir, name)); err != nil {
			return fmt.Errorf("restore to %s: %w", t.Dir, err)
		}
	}
	if err := t.copyAll(from); err != nil {
		return err
	}
	return t.NewEpoch()
}

// holdBackup locks a backup, unless it cannot be written to: then nobody else can either.
func holdBackup(fs vfs.FS, backup string) (*directory, error) {
	desc, err := pebble.Peek(backup, fs)
	if err == nil && !desc.Exists {
		err = errors.New("no store is in it")
	}
	if err != nil {
		return nil, err
	}
	d, err := lockDirectory(fs, backup)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, iofs.ErrPermission) {
		return &directory{fs: fs, path: backup}, nil
	}
	return d, err
}

func (t Tool) copyAll(from *directory) error {
	names, err := from.files()
	if err != nil {
		return fmt.Errorf("restore from %s: %w", from.path, err)
	}
	for _, name := range names {
		if name == ballastName {
			continue
		}
		if err := t.copy(t.FS.PathJoin(from.path, name), t.FS.PathJoin(t.Dir, name)); err != nil {
			return fmt.Errorf("restore %s: %w", name, err)
		}
	}
	if err := syncDir(t.FS, t.Dir); err != nil {
		return fmt.Errorf("restore to %s: %w", t.Dir, err)
	}
	return nil
}

func (t Tool) copy(from, to string) error {
	in, err := t.FS.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := t.FS.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
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
	if _, err := t.FS.Stat(t.Dir); errors.Is(err, iofs.ErrNotExist) {
		return fmt.Errorf("no store is in %s: %w", t.Dir, err)
	}
	d, err := lockDirectory(t.FS, t.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.unlock()) }()
	if !t.half {
		if err := d.refuseHalf(); err != nil {
			return fmt.Errorf("open the store in %s: %w", t.Dir, err)
		}
	}

	o := Options{Dir: t.Dir, FS: t.FS, Log: t.Log}.withDefaults()
	limit := newLimiter()
	log := &logger{func(error) {}, t.Log, limit}
	counted := newCounters()
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
