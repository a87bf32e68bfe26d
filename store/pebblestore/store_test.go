package pebblestore

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"lifeline/store"
	"lifeline/store/commit"
	"lifeline/store/storetest"
)

// testOptions opens a small store in memory, whose tables are so small that flushes and compactions happen.
func testOptions(tb testing.TB, fs vfs.FS) Options {
	return Options{
		Dir: "data/store", FS: fs, CacheBytes: 1 << 20, MemTableBytes: 64 << 10,
		FloorBytes: 1, FloorPercent: -1, BallastBytes: -1,
		Log:    slog.New(slog.NewTextHandler(io.Discard, nil)),
		Commit: commit.Options{Heads: 64, Fatal: func(err error) { tb.Errorf("the store ended: %v", err) }},
	}
}

// opened is a store with the filesystem that it is on.
type opened struct {
	*Store
	fs vfs.FS
}

func open(tb testing.TB, fs vfs.FS, o storetest.Options) *opened {
	tb.Helper()
	options := testOptions(tb, fs)
	options.MemTableBytes = conformanceMemTable
	options.Commit.Sink, options.Commit.Now, options.Commit.QueueCommands = o.Sink, o.Now, o.Queue
	s, err := Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	return &opened{s, fs}
}

var harness = storetest.Harness{
	Open: func(tb testing.TB, o storetest.Options) store.Store { return open(tb, newDisk(), o) },
	Trim: func(tb testing.TB, s store.Store, user string, upTo uint64) {
		if err := s.(*opened).TrimInbox(user, upTo); err != nil {
			tb.Fatal(err)
		}
	},
	TrimConversation: func(tb testing.TB, s store.Store, conversation string, upTo uint64) {
		if err := s.(*opened).TrimConversation(conversation, upTo); err != nil {
			tb.Fatal(err)
		}
	},
	Purge: func(tb testing.TB, s store.Store) {
		if err := s.(*opened).Purge(); err != nil {
			tb.Fatal(err)
		}
	},
	Reopen: func(tb testing.TB, s store.Store, o storetest.Options) store.Store {
		if err := s.Close(); err != nil {
			tb.Fatal(err)
		}
		return open(tb, s.(*opened).fs, o)
	},
	Crash: func(tb testing.TB, s store.Store, o storetest.Options) store.Store {
		percent := min(max(rand.IntN(201)-50, 0), 100) // nothing and everything in one of four each
		tb.Logf("crash with %d %% of what was not synced", percent)
		left := s.(*opened).fs.(*memDisk).CrashClone(vfs.CrashCloneCfg{
			UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(rand.Uint64(), 0)),
		})
		if err := s.Close(); err != nil {
			tb.Fatal(err)
		}
		return open(tb, left, o)
	},
}
