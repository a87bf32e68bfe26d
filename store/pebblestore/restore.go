package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

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
	switch {
	case err != nil:
	case inside(t.Dir, backup) || inside(backup, t.Dir):
		err = fmt.Errorf("it and the backup in %s lie in one another; nothing was changed", backup)
	case len(old) > 0 && !half:
		err = errors.New("there are files in it; nothing was changed")
	}
	if err != nil {
		return fmt.Errorf("restore to %s: %w", t.Dir, err)
	}
	from, err := t.hold(backup, true)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer func() { _ = from.unlock() }() // it was only read
	names, err := from.whole()
	if err != nil {
		return fmt.Errorf("restore from %s: %w", backup, err)
	}
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
	if err := t.copyAll(from, names); err != nil {
		return err
	}
	return t.NewEpoch()
}

// inside reports whether a path leads to a directory or into it.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(resolve(dir), resolve(path))
	return err == nil && filepath.IsLocal(rel)
}

// resolve follows the links of a path as far as it exists.
func resolve(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if there, err := filepath.EvalSymlinks(path); err == nil {
		return there
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}

// whole lists the files of a backup, or refuses one that is no more than a part of a store, or has something else in it.
func (d *directory) whole() ([]string, error) {
	if err := d.refuseHalf(); err != nil {
		return nil, err
	}
	names, err := d.files()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		info, err := d.fs.Stat(d.fs.PathJoin(d.path, name))
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			return nil, fmt.Errorf("the directory %s in it is no file of a store: move it away; nothing was changed", name)
		}
	}
	return names, nil
}

func (t Tool) copyAll(from *directory, names []string) error {
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
