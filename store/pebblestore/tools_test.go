package pebblestore

import (
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A store that may not be written to, on a disk for reading or of another user, can be verified and restored from.
func TestReadOnlyStore(t *testing.T) {
	for name, cause := range map[string]error{"disk for reading": syscall.EROFS, "of another user": syscall.EACCES} {
		t.Run(name, func(t *testing.T) {
			disk, _ := backedUp(t)
			fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose && strings.HasPrefix(op.Path, "backup") {
					return &os.PathError{Op: "write", Path: op.Path, Err: cause}
				}
				return nil
			}))
			var lines lineCounter
			log := slog.New(slog.NewTextHandler(&lines, nil))
			census, err := Tool{Dir: "backup", FS: fs, Log: log}.Verify(func(fault string) { t.Error(fault) })
			if err != nil || census.Messages != 5 {
				t.Errorf("%+v, %v", census, err)
			}
			if err := (Tool{Dir: "data/store", FS: fs, Log: log}).Restore("backup"); err != nil {
				t.Error(err)
			}
			if warned := lines.count.Load() == 2; warned != (cause == syscall.EACCES) {
				t.Errorf("%d warnings that a server may use it", lines.count.Load())
			}
			if err := (Tool{Dir: "backup", FS: fs}).NewEpoch(); err == nil || !strings.Contains(err.Error(), "must be able to write") {
				t.Errorf("a new epoch: %v", err)
			}
		})
	}
}

// Tools say so when there is no store, and leave nothing behind.
func TestToolsWithoutAStore(t *testing.T) {
	for _, dir := range []string{"empty", "nowhere"} {
		for name, do := range map[string]func(Tool) error{
			"verify":    func(t Tool) error { _, err := t.Verify(func(string) {}); return err },
			"new-epoch": Tool.NewEpoch,
			"restore":   func(t Tool) error { return Tool{Dir: "elsewhere", FS: t.FS}.Restore(t.Dir) },
		} {
			fs := vfs.NewMem()
			if err := fs.MkdirAll("empty", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := do(Tool{Dir: dir, FS: fs}); err == nil || !strings.Contains(err.Error(), "no store is in "+dir) {
				t.Errorf("%s of %s: %v", name, dir, err)
			}
			for _, place := range []string{"", "empty"} {
				if names, err := fs.List(place); err != nil || len(names) > 0 && names[0] != "empty" {
					t.Errorf("%s of %s: %q is in %q, %v", name, dir, names, place, err)
				}
			}
		}
	}
}
