package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"lifeline/store"
	"lifeline/store/storetest"
)

// slowSync is a filesystem whose syncs of the log wait while it is held.
type slowSync struct {
	mu   sync.Mutex
	held chan struct{}
}

func (s *slowSync) MaybeError(op errorfs.Op) error {
	if !strings.HasSuffix(op.Path, ".log") || op.Kind != errorfs.OpFileSync && op.Kind != errorfs.OpFileSyncData {
		return nil
	}
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		<-held
	}
	return nil
}

func (s *slowSync) String() string { return "slow sync" }

func (s *slowSync) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = make(chan struct{})
}

func (s *slowSync) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.held)
	s.held = nil
}

// Pebble shows a batch before its log is synced. Readers must not see it: a client would keep a number that a power cut
// gives to another message.
func TestReadersSeeOnlyWhatIsDurable(t *testing.T) {
	disk := &slowSync{}
	options := testOptions(t, errorfs.Wrap(vfs.NewMem(), disk))
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Call(s, directSend(0))
	disk.hold()
	answer := make(chan store.Answer, 1)
	send := directSend(1)
	send.Reply = replyFunc(func(a store.Answer) { answer <- a })
	s.Submit(send)
	poll(t, "the message in Pebble", func() bool { return inPebble(t, s, 2) })

	history := store.HistoryRead{User: "ann", Conversation: store.Direct("ann", "bob"), From: 1, To: 10, MaxBytes: 1 << 20}
	if start, err := s.Start("bob", "phone"); err != nil || start.Head != 1 {
		t.Errorf("not durable yet: %+v, %v", start, err)
	}
	if page, err := s.History(history); err != nil || page.Head != 1 || len(page.Messages) != 1 {
		t.Errorf("not durable yet: %+v, %v", page, err)
	}
	if page, err := s.Inbox(store.InboxRead{User: "bob", From: 1, Max: 10, MaxBytes: 1 << 20}); err != nil || len(page.Entries) != 1 {
		t.Errorf("not durable yet: %+v, %v", page, err)
	}
	select {
	case a := <-answer:
		t.Errorf("answered before it is durable: %+v", a)
	default:
	}
	disk.release()
	<-answer
	if page, err := s.History(history); err != nil || len(page.Messages) != 2 {
		t.Errorf("durable: %+v, %v", page, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// inPebble reports whether Pebble itself shows so many messages.
func inPebble(t *testing.T, s *Store, want int) bool {
	iter, err := s.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer iter.Close()
	messages := 0
	for ok := iter.First(); ok; ok = iter.Next() {
		if key := string(iter.Key()); strings.Contains(key, "bob\x00m") {
			messages++
		}
	}
	return messages == want
}

// An engine keeps its contract: atomic batches, ordered scans with both bounds, copies, errors after Close, and Close
// waits for the readers.
func TestEngine(t *testing.T) {
	var e store.Engine
	options := testOptions(t, vfs.NewMem())
	options.wrap = func(inner store.Engine) store.Engine { e = inner; return inner }
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	put := func(keys ...string) {
		p := store.PartitionOps{Partition: 70}
		for _, key := range keys {
			p.Ops = append(p.Ops, store.Op{Key: []byte("\x46" + key), Value: []byte("value of " + key)})
		}
		if err := e.Commit(context.Background(), []store.PartitionOps{p}); err != nil {
			t.Fatal(err)
		}
	}
	put("b", "a", "d", "c")
	if err := e.Commit(context.Background(), []store.PartitionOps{{Ops: []store.Op{{Key: []byte("\x46c"), Delete: true}}}}); err != nil {
		t.Fatal(err)
	}
	value, ok, err := e.Get([]byte("before "), []byte("\x46a"))
	if string(value) != "before value of a" || !ok || err != nil {
		t.Errorf("%q, %v, %v", value, ok, err)
	}
	if value, ok, err := e.Get([]byte("before "), []byte("\x46c")); string(value) != "before " || ok || err != nil {
		t.Errorf("%q, %v, %v", value, ok, err)
	}
	scan := func(from, to string, most int) (keys string) {
		err := e.Scan([]byte("\x46"+from), []byte("\x46"+to), func(key, value []byte) bool {
			keys += string(key[1:])
			if string(value) != "value of "+string(key[1:]) {
				t.Errorf("key %q has value %q", key, value)
			}
			put(fmt.Sprint("new ", keys)) // a commit under the scan is not seen
			return len(keys) < most
		})
		if err != nil {
			t.Error(err)
		}
		return keys
	}
	for _, test := range []struct {
		from, to string
		most     int
		want     string
	}{{"a", "e", 9, "abd"}, {"b", "d", 9, "b"}, {"a", "e", 2, "ab"}, {"x", "z", 9, ""}} {
		if got := scan(test.from, test.to, test.most); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}

	reading, closed := make(chan struct{}), make(chan struct{})
	release := make(chan struct{})
	go e.Scan([]byte{0}, []byte{0xff}, func(_, _ []byte) bool { close(reading); <-release; return false })
	<-reading
	go func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		close(closed)
	}()
	poll(t, "the end of new reads", func() bool { _, _, err := e.Get(nil, []byte("a")); return errors.Is(err, errClosed) })
	select {
	case <-closed:
		t.Error("Close did not wait for a reader")
	default:
	}
	close(release)
	<-closed
	if err := e.Scan([]byte{0}, []byte{1}, func(_, _ []byte) bool { return true }); !errors.Is(err, errClosed) {
		t.Errorf("a scan after Close: %v", err)
	}
}

// The format of the files is raised by a release that says so and by nothing else: there is no way back.
func TestFormatIsPinned(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, storetest.Options{})
	made := s.db.FormatMajorVersion()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, fs, storetest.Options{})
	defer s.Close()
	if opened := s.db.FormatMajorVersion(); made != 21 || opened != 21 {
		t.Errorf("made with format %d, opened with %d, want 21", made, opened)
	}
}
