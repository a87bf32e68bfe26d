package pebblestore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lifeline/store"
	"lifeline/store/storetest"
)

// copyDir makes a copy of a store that is not running.
func copyDir(t *testing.T, fs vfs.FS, from, to string) {
	t.Helper()
	if err := fs.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	for name, data := range filesOf(t, fs, from) {
		writeFile(t, fs, to, name, data)
	}
}

// sent opens the store, sends so many messages and closes it.
func sent(t *testing.T, fs vfs.FS, from, n int) {
	t.Helper()
	s := open(t, fs, storetest.Options{})
	for i := range n {
		if a := storetest.Call(s, directSend(from+i)); a.Refusal != store.None {
			t.Fatal(a.Refusal)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func epochOf(t *testing.T, fs vfs.FS) store.Epoch {
	t.Helper()
	s := open(t, fs, storetest.Options{})
	defer s.Close()
	return s.Epoch()
}

// A directory that was copied back would give out numbers again that clients know: it is refused until it has a new epoch.
func TestCopiedBackDirectoryIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	sent(t, fs, 0, 3)
	epoch := epochOf(t, fs)
	copyDir(t, fs, "data/store", "backup")
	sent(t, fs, 3, 3)
	copyDir(t, fs, "backup", "data/store")

	_, err := Open(testOptions(t, fs))
	if err == nil || !strings.Contains(err.Error(), "copied back") || !strings.Contains(err.Error(), "lifelinectl store new-epoch data/store") {
		t.Fatalf("opened with %v", err)
	}
	if err := (Tool{Dir: "data/store", FS: fs}).NewEpoch(); err != nil {
		t.Fatal(err)
	}
	s := open(t, fs, storetest.Options{})
	if s.Epoch() == epoch {
		t.Error("the epoch is the old one")
	}
	if start, err := s.Start("bob", "phone"); err != nil || start.Head != 3 {
		t.Errorf("%+v, %v", start, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if epochOf(t, fs) != s.Epoch() {
		t.Error("the epoch changes without need")
	}
}

// A crash between the two places leaves the directory ahead, and it opens.
func TestBootNumberAheadIsFine(t *testing.T) {
	fs := vfs.NewMem()
	for range 3 {
		sent(t, fs, 0, 1)
	}
	for _, beside := range []string{"2\n", ""} { // one behind; lost, or on another machine
		if err := fs.Remove("data/store.boot"); err != nil {
			t.Fatal(err)
		}
		if beside != "" {
			writeFile(t, fs, "data", "store.boot", []byte(beside))
		}
		sent(t, fs, 0, 1)
	}
	writeFile(t, fs, "data", "store.boot", []byte("nonsense"))
	if _, err := Open(testOptions(t, fs)); err == nil || !strings.Contains(err.Error(), "store.boot") {
		t.Errorf("opened with %v", err)
	}
}

// A directory that was deleted begins a new history: its epoch tells clients so, and there is nothing to confuse it with.
func TestADeletedDirectoryBeginsAnew(t *testing.T) {
	fs := vfs.NewMem()
	sent(t, fs, 0, 3)
	epoch := epochOf(t, fs)
	copyDir(t, fs, "data/store", "backup")
	if err := fs.RemoveAll("data/store"); err != nil {
		t.Fatal(err)
	}
	if epochOf(t, fs) == epoch {
		t.Error("the epoch is the deleted one's")
	}
	copyDir(t, fs, "backup", "data/store")
	if _, err := Open(testOptions(t, fs)); err == nil || !strings.Contains(err.Error(), "copied back") {
		t.Errorf("the deleted one, copied back, opened with %v", err)
	}
}

func TestRestore(t *testing.T) {
	fs := vfs.NewMem()
	sent(t, fs, 0, 5)
	epoch := epochOf(t, fs)
	copyDir(t, fs, "data/store", "backup")

	tool := Tool{Dir: "data/store", FS: fs}
	if err := tool.Restore("backup"); err == nil || !strings.Contains(err.Error(), "files in it") {
		t.Errorf("restored over a store: %v", err)
	}
	if err := fs.RemoveAll("data/store"); err != nil {
		t.Fatal(err)
	}
	if err := tool.Restore("nowhere"); err == nil {
		t.Error("restored from nowhere")
	}
	if err := tool.Restore("backup"); err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Verify(func(fault string) { t.Error(fault) }); err != nil {
		t.Error(err)
	}
	if epochOf(t, fs) == epoch {
		t.Error("the epoch is the old one")
	}
	if err := (Tool{Dir: "elsewhere", FS: fs}).NewEpoch(); err == nil || !strings.Contains(err.Error(), "no store is in elsewhere") {
		t.Errorf("a new epoch of nothing: %v", err)
	}
}

// Who finds the directory in use is told so, and what to do, on a real disk and in memory.
func TestDirectoryInUse(t *testing.T) {
	for name, options := range map[string]Options{"disk": testOptions(t, vfs.Default), "memory": testOptions(t, vfs.NewMem())} {
		t.Run(name, func(t *testing.T) {
			if name == "disk" {
				options.Dir = filepath.Join(t.TempDir(), "a", "store")
			}
			s, err := Open(options)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(options); err == nil || !strings.Contains(err.Error(), "in use by another process") {
				t.Errorf("a second server got %v", err)
			}
			if _, err := (Tool{Dir: options.Dir, FS: options.FS}).Verify(func(string) {}); err == nil {
				t.Error("a tool worked on a running store")
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := Open(options)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
			if err := again.Close(); err != nil {
				t.Errorf("a second Close: %v", err)
			}
			if _, err := again.Start("bob", "phone"); !errors.Is(err, errClosed) {
				t.Errorf("a read after Close: %v", err)
			}
		})
	}
}

// A directory that cannot be made or written to is no other process's fault.
func TestDirectoryThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	options := testOptions(t, vfs.Default)
	for _, options.Dir = range []string{filepath.Join(file, "store"), file, "/proc/self"} {
		if _, err := Open(options); err == nil || strings.Contains(err.Error(), "in use") || !strings.Contains(err.Error(), "another --data-dir") {
			t.Errorf("%s: opened with %v", options.Dir, err)
		}
	}
}

// However the directory is named, the file lies beside it.
func TestBootNumberLiesBeside(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for path, want := range map[string]string{
		"data": "data.boot", "./data/": "data.boot", "/var/lib/lifeline/": "/var/lib/lifeline.boot",
		".": dir + ".boot", "..": filepath.Dir(dir) + ".boot", "data/..": dir + ".boot",
	} {
		if got := (&directory{path: path}).beside(); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
