package client

import (
	"fmt"
	"path/filepath"
	"testing"
)

func id(n int) (m MessageID) {
	copy(m[:], fmt.Sprintf("message %08d", n))
	return m
}

// Both inboxes pass the same suite; reopen is nil for one that forgets.
func TestInboxes(t *testing.T) {
	t.Run("memory", func(t *testing.T) { inboxSuite(t, new(MemoryInbox), nil) })
	t.Run("file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "inbox")
		inbox := openInbox(t, path)
		inboxSuite(t, inbox, func() Inbox {
			if err := inbox.Close(); err != nil {
				t.Fatal(err)
			}
			inbox = openInbox(t, path)
			return inbox
		})
	})
}

func openInbox(t *testing.T, path string) *FileInbox {
	t.Helper()
	f, err := OpenFileInbox(path, "bob/phone")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func inboxSuite(t *testing.T, inbox Inbox, reopen func() Inbox) {
	var want Progress
	known, first, last := false, 1, 0 // ids first to last are remembered
	check := func(step string) {
		t.Helper()
		if reopen != nil {
			inbox = reopen()
		}
		p, ok, err := inbox.Progress()
		if err != nil || ok != known || p != want {
			t.Fatalf("%s: %v %v %v, want %v %v", step, p, ok, err, want, known)
		}
		for n := max(0, first-5); n < last+5; n++ {
			seen, err := inbox.Seen(id(n))
			if remembered := n >= first && n <= last; err != nil || seen != remembered {
				t.Fatalf("%s: message %d: seen %v %v, want %v", step, n, seen, err, remembered)
			}
		}
	}
	commit := func(n int, pos uint64) {
		t.Helper()
		var ids []MessageID
		for range n {
			last++
			ids = append(ids, id(last))
		}
		first = max(first, last-recentIDs+1)
		want.Pos = pos
		if err := inbox.Commit(ids, pos); err != nil {
			t.Fatal(err)
		}
	}
	reset := func(p Progress) {
		t.Helper()
		want, known = p, true
		if err := inbox.Reset(p); err != nil {
			t.Fatal(err)
		}
	}

	check("new")
	reset(Progress{Epoch{1}, 0})
	check("reset at 0")
	commit(3, 3)
	check("three messages")
	commit(0, 7)
	check("a position without messages")
	if err := inbox.Commit([]MessageID{id(2)}, 8); err != nil {
		t.Fatal(err)
	}
	want.Pos = 8
	check("a message again")
	reset(Progress{Epoch{2}, 1 << 40})
	check("another epoch keeps the ids") // [P-6.11]
	for range recentIDs / 64 {
		commit(64, want.Pos+64)
	}
	check("as many as are remembered")
	commit(64, want.Pos+64)
	check("the oldest are forgotten")
}

func TestFileInboxStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox")
	f := openInbox(t, path)
	f.most, f.due = 40<<10, 40<<10 // a full snapshot has 65 KiB
	if err := f.Reset(Progress{Epoch{1}, 0}); err != nil {
		t.Fatal(err)
	}
	const messages = 3 * recentIDs
	for n := 0; n < messages; n += 64 {
		var ids []MessageID
		for i := range 64 {
			ids = append(ids, id(n+i))
		}
		if err := f.Commit(ids, uint64(n+64)); err != nil {
			t.Fatal(err)
		}
		if f.journal.size > 2*66<<10+1200 {
			t.Fatalf("after %d messages it has %d bytes", n, f.journal.size)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openInbox(t, path)
	p, known, err := f.Progress()
	if err != nil || !known || p.Pos != messages || p.Epoch != (Epoch{1}) {
		t.Errorf("opened again: %v %v %v", p, known, err)
	}
	for n := range messages {
		if seen, _ := f.Seen(id(n)); seen != (n >= messages-recentIDs) {
			t.Fatalf("message %d: seen %v", n, seen)
		}
	}
}
