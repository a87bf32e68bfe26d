package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lifeline/store"
	"lifeline/store/storetest"
)

// A damaged manifest or log is refused, and nothing in the directory is changed. Pebble would take each for the end.
func TestDamageIsRefused(t *testing.T) {
	disk := newDisk()
	options := testOptions(t, disk)
	options.MemTableBytes = 256 << 10
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 600 {
		storetest.Call(s, directSend(n))
	}
	for deadline := time.Now().Add(30 * time.Second); installed(s) == 0; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no table was made")
		}
	}
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, crashed, options.Dir)
	tables, log := 0, ""
	for name := range files {
		if strings.HasSuffix(name, ".sst") {
			tables++
		}
		if strings.HasSuffix(name, ".log") {
			log = max(log, name) // the others are strictly read by Pebble, if at all
		}
	}
	for name, data := range files {
		if !strings.HasPrefix(name, "MANIFEST") && name != log {
			continue
		}
		places := []int{8, len(data) / 4, len(data) / 2, len(data) - 8000} // the last block, where Pebble sees only the end
		if name != log {
			last := lastRecord(t, data) // damage in it could be what a crash leaves
			places = []int{8, last / 2, last - 1}
		}
		for _, at := range places {
			t.Run(fmt.Sprintf("%s at %d of %d", name, at, len(data)), func(t *testing.T) {
				damaged := vfs.NewMem()
				for other, data := range files {
					if data = bytes.Clone(data); other == name {
						data[at] ^= 0x40
					}
					writeFile(t, damaged, options.Dir, other, data)
				}
				before := filesOf(t, damaged, options.Dir)
				o := testOptions(t, damaged)
				if opened, err := Open(o); err == nil {
					opened.Close()
					t.Fatal("it was opened")
				} else if !strings.Contains(err.Error(), "damaged at byte") || !strings.Contains(err.Error(), "store restore BACKUP DIR") {
					t.Errorf("refused with %v", err)
				}
				if after := filesOf(t, damaged, options.Dir); !maps.EqualFunc(before, after, bytes.Equal) {
					t.Error("the directory was changed")
				}
			})
		}
	}
	if tables == 0 {
		t.Error("the test has no tables that could have been deleted")
	}
}

// lastRecord returns where a small manifest's last edit begins.
func lastRecord(t *testing.T, manifest []byte) (last int) {
	for at := 0; at < len(manifest); {
		c, ok := parseChunk(manifest[at:])
		if !ok {
			t.Fatalf("a manifest of %d bytes has no record at %d", len(manifest), at)
		}
		last, at = at, at+c.size
	}
	return last
}

// A manifest or log that only ends, wherever, is what a crash leaves.
func TestTornEndIsNoDamage(t *testing.T) {
	disk := newDisk()
	s := open(t, disk, storetest.Options{})
	for n := range 60 {
		storetest.Call(s, directSend(n))
	}
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range filesOf(t, crashed, "data/store") {
		if !strings.HasPrefix(name, "MANIFEST") && !strings.HasSuffix(name, ".log") {
			continue
		}
		for end := 0; end < len(data); end += 1 + len(data)/200 {
			torn := append(data[:end:end], make([]byte, 100)...) // the file had grown before its blocks were there
			if at, found, err := findDamage(bytes.NewReader(torn), func(chunk, uint64) bool { return true }); found || err != nil {
				t.Fatalf("%s torn at %d: damage at %d, %v", name, end, at, err)
			}
		}
	}
}

// A damaged table is found when it is read: the reader gets an error and the store ends.
func TestDamagedTableEndsTheStore(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, storetest.Options{})
	for n := range 300 {
		storetest.Call(s, directSend(n))
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for file, data := range filesOf(t, disk, "data/store") {
		if strings.HasSuffix(file, ".sst") {
			for i := 0; i < len(data)*3/4; i += 50 {
				data[i] ^= 0x40 // but not the footer, so that it can be opened
			}
			writeFile(t, disk, "data/store", file, data)
		}
	}
	options := testOptions(t, disk)
	var fatal atomic.Pointer[string]
	options.Commit.Fatal = func(err error) { text := err.Error(); fatal.Store(&text) }
	damaged, err := Open(options)
	if err == nil {
		_, err = damaged.History(store.HistoryRead{User: "ann", Conversation: store.Direct("ann", "bob"), From: 1, To: 300, MaxBytes: 1 << 20})
	}
	if err == nil {
		t.Error("damage was read without an error")
	}
	if text := fatal.Load(); text == nil || !strings.Contains(*text, "nothing was deleted") {
		t.Errorf("the store ended with %v", text)
	}
}

// A file that is missing, or a table that is cut short, is found at the start. The store does not open, and says what to do.
func TestIncompleteStoreIsRefused(t *testing.T) {
	remove := func(file string, _ []byte) error { return os.Remove(file) }
	for name, tt := range map[string]struct {
		part  string // of the names of the files that are spoiled
		spoil func(file string, data []byte) error
	}{
		"no manifest":                    {"/MANIFEST", remove},
		"no manifest, nor what names it": {"MANIFEST", remove},
		"no table":                       {".sst", remove},
		"half of a table":                {".sst", func(file string, data []byte) error { return os.WriteFile(file, data[:len(data)/2], 0o600) }},
	} {
		t.Run(name, func(t *testing.T) {
			options := testOptions(t, vfs.Default)
			options.Dir = t.TempDir() + "/store"
			s, err := Open(options)
			if err != nil {
				t.Fatal(err)
			}
			storetest.Call(s, directSend(0))
			if err := errors.Join(s.db.Flush(), s.Close()); err != nil {
				t.Fatal(err)
			}
			for file, data := range filesOf(t, vfs.Default, options.Dir) {
				if file = options.Dir + "/" + file; !strings.Contains(file, tt.part) {
					continue
				}
				if err := tt.spoil(file, data); err != nil {
					t.Fatal(err)
				}
			}
			before := filesOf(t, vfs.Default, options.Dir)
			if _, err = Open(options); err == nil || !strings.HasPrefix(err.Error(), options.Dir+": ") || !strings.Contains(err.Error(), "lifelinectl store restore BACKUP DIR") {
				t.Errorf("opened with %v", err)
			}
			if after := filesOf(t, vfs.Default, options.Dir); !maps.EqualFunc(before, after, bytes.Equal) {
				t.Error("the directory was changed")
			}
		})
	}
}

// filesOf reads the files of a directory.
func filesOf(t *testing.T, fs vfs.FS, dir string) map[string][]byte {
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	files := map[string][]byte{}
	for _, name := range names {
		if name == "LOCK" {
			continue
		}
		f, err := fs.Open(fs.PathJoin(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, info.Size())
		if _, err := f.ReadAt(data, 0); err != nil && len(data) > 0 {
			t.Fatal(err)
		}
		files[name] = data
		f.Close()
	}
	return files
}

func writeFile(t *testing.T, fs vfs.FS, dir, name string, data []byte) {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(fs.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// installed is the number of tables that the manifest names.
func installed(s *Store) int64 {
	m := s.db.Metrics()
	total := m.Total()
	return total.TablesCount
}
