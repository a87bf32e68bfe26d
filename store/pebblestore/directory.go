package pebblestore

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lifeline/store"
	"lifeline/store/commit"
)

const (
	lockName  = "LOCK"
	restoring = " restoring" // behind the boot number
	mustWrite = "the server must be able to write there, or be given another --data-dir"
)

// directory is a locked store directory and the file beside it that knows its boot number.
//
// A directory that was copied back is behind that file. Its numbers were given out again already, so it must become a
// new epoch before anybody reads it. While a restore copies, the file says so, because until it has ended the directory
// may look like a whole store of the old epoch.
type directory struct {
	fs   vfs.FS
	path string
	lock *pebble.Lock
}

func lockDirectory(fs vfs.FS, path string) (*directory, error) {
	if err := makeDir(fs, path); err != nil {
		return nil, fmt.Errorf("make the store's directory: %w; %s", err, mustWrite)
	}
	lock, err := pebble.LockDirectory(path, fs)
	if err == nil {
		return &directory{fs: fs, path: path, lock: lock}, nil
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) && errno != syscall.EAGAIN {
		return nil, fmt.Errorf("lock the store in %s: %w; %s", path, err, mustWrite)
	}
	return nil, fmt.Errorf("the store in %s is in use by another process, probably a lifelined that still runs: stop it, or choose another data directory (%w)", path, err)
}

// makeDir makes a directory with its parents, so that a crash does not take it away again.
func makeDir(fs vfs.FS, path string) error {
	if _, err := fs.Stat(path); err == nil || !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	parent := fs.PathDir(path)
	if parent != path {
		if err := makeDir(fs, parent); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(path, 0o750); err != nil {
		return err
	}
	return syncDir(fs, parent)
}

func (d *directory) unlock() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}

// boot counts this start, first in the directory and then beside it, so that a crash between leaves the directory ahead.
func (d *directory) boot(engine store.Engine) error {
	meta, ok, err := commit.ReadMeta(engine)
	if err != nil {
		return err
	}
	beside, _, err := d.readBeside()
	if err != nil {
		return err
	}
	if !ok { // a directory with nothing in it begins a new history, whatever was there before
		meta.Epoch, meta.Boot = commit.NewEpoch(), beside
	}
	if meta.Boot < beside {
		return fmt.Errorf("the directory knows of %d starts, %s of %d: it was copied back, and clients have seen what it has not. "+
			"Give it a new history: lifelinectl store new-epoch %s", meta.Boot, d.beside(), beside, d.path)
	}
	return d.write(engine, meta)
}

func (d *directory) write(engine store.Engine, meta commit.Meta) error {
	meta.Boot++
	if err := commit.WriteMeta(engine, meta); err != nil {
		return fmt.Errorf("write the boot number: %w", err)
	}
	return d.writeBeside(meta.Boot, "")
}

// refuseHalf refuses a directory into which a restore has not copied everything.
func (d *directory) refuseHalf() error {
	_, half, err := d.readBeside()
	if err != nil || !half {
		return err
	}
	names, err := d.files()
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("a restore into it has not ended. Do it again: lifelinectl store restore BACKUP %s", d.path)
	}
	return err
}

// files lists what is in the directory besides its lock; nothing when there is none.
func (d *directory) files() ([]string, error) {
	names, err := d.fs.List(d.path)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == lockName }), err
}

// beside is the file's name. A directory that is named by dots has its own name looked up, or the file would lie inside.
func (d *directory) beside() string {
	path := filepath.Clean(d.path)
	if base := filepath.Base(path); base == "." || base == ".." {
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
	}
	return path + ".boot"
}

// readBeside returns the boot number, 0 when there is no file, and whether a restore has not ended.
func (d *directory) readBeside() (boot uint64, half bool, err error) {
	f, err := d.fs.Open(d.beside())
	if errors.Is(err, iofs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read the boot number: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return 0, false, fmt.Errorf("read the boot number: %w", err)
	}
	number, half := strings.CutSuffix(strings.TrimSpace(string(text)), restoring)
	boot, err = strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%s holds no boot number: %w", d.beside(), err)
	}
	return boot, half, nil
}

// writeBeside replaces the file as a whole. The note is nothing, or restoring.
func (d *directory) writeBeside(boot uint64, note string) error {
	temporary := d.beside() + ".new"
	f, err := d.fs.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("write the boot number: %w", err)
	}
	_, err = fmt.Fprintf(f, "%d%s\n", boot, note)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = d.fs.Rename(temporary, d.beside())
	}
	if err == nil {
		err = syncDir(d.fs, d.fs.PathDir(d.beside()))
	}
	if err != nil {
		return fmt.Errorf("write the boot number: %w", err)
	}
	return nil
}

func syncDir(fs vfs.FS, path string) error {
	dir, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
