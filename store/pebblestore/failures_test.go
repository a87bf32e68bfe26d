package pebblestore

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"lifeline/store"
	"lifeline/store/storetest"
)

// failing is a filesystem whose writes and syncs of some files fail while it is on.
type failing struct {
	suffix string
	making bool // only the making of them fails
	cause  error
	on     atomic.Bool
	count  atomic.Int64
}

func (f *failing) MaybeError(op errorfs.Op) error {
	makes := op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite
	writes := op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
	if !f.on.Load() || !makes && (f.making || !writes) || !strings.HasSuffix(op.Path, f.suffix) {
		return nil
	}
	f.count.Add(1)
	return &os.PathError{Op: "write", Path: op.Path, Err: f.cause}
}

func (f *failing) String() string { return "failing " + f.suffix }

func directSend(n int) *store.Send {
	return &store.Send{Sender: "ann", SenderDevice: "phone", ToUser: "bob", ClientID: fmt.Appendf(nil, "client %d", n), Payload: bytes.Repeat([]byte("x"), 100)}
}

// A log that cannot be written ends the store: nobody is told that a message is stored, and what was told is there.
func TestFailingLogEndsTheStore(t *testing.T) {
	for name, cause := range map[string]error{"no space": syscall.ENOSPC, "i/o error": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			disk := newDisk()
			log := &failing{suffix: ".log", cause: cause}
			options := testOptions(t, errorfs.Wrap(disk, log))
			fatal := make(chan error, 10)
			options.Commit.Fatal = func(err error) { fatal <- err }
			s, err := Open(options)
			if err != nil {
				t.Fatal(err)
			}
			const before = 20
			for n := range before {
				if a := storetest.Call(s, directSend(n)); a.Refusal != store.None {
					t.Fatal(a.Refusal)
				}
			}
			log.on.Store(true)
			failed := make(chan struct{})
			go func() {
				if a, ok := call(s.Store, directSend(before), failed); ok && a.Refusal == store.None {
					t.Errorf("a message that the log did not take was acknowledged: %+v", a)
				}
			}()
			cause := <-fatal
			close(failed)
			if !strings.Contains(cause.Error(), log.cause.Error()) {
				t.Errorf("the cause is %q, which does not say %q", cause, log.cause)
			}
			poll(t, "the end", func() bool { return s.Submit(directSend(99)) == store.Closed })
			if s.Close() == nil {
				t.Error("Close says that all is well")
			}
			if len(fatal) > 0 {
				t.Errorf("the end was told more than once: %v", <-fatal)
			}

			left := open(t, disk.CrashClone(vfs.CrashCloneCfg{}), storetest.Options{})
			page, err := left.History(store.HistoryRead{User: "ann", Conversation: store.Direct("ann", "bob"), From: 1, To: 100, MaxBytes: 1 << 20})
			if err != nil || len(page.Messages) < before || len(page.Messages) > before+1 {
				t.Errorf("%d messages are left, %v", len(page.Messages), err)
			}
			if err := left.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Tell this test's executable to be the child of TestFailingLogEndsTheProcess, and what fails there.
const (
	childDir   = "LIFELINE_TEST_FAILING_DIR"
	childMakes = "LIFELINE_TEST_FAILING_MAKES" // not empty: only the making of the next log
)

// TestMain becomes that child when it is told so.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		failingChild(dir)
		return
	}
	os.Exit(m.Run())
}

// failingChild sends until the process ends: after 50 messages the log cannot be written, or no other one be made. It prints
// what was acknowledged.
func failingChild(dir string) {
	log := &failing{suffix: ".log", cause: syscall.ENOSPC, making: os.Getenv(childMakes) != ""}
	s, err := Open(Options{
		Dir: dir, FS: errorfs.Wrap(vfs.Default, log), MemTableBytes: 64 << 10, FloorBytes: 1, FloorPercent: -1, BallastBytes: -1,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	for n := 0; ; n++ {
		log.on.Store(n >= 50)
		if a := storetest.Call(s, directSend(n)); a.Refusal == store.None {
			fmt.Println(a.Seq)
		}
	}
}

// With the default Fatal the process ends, says why in its last line, and has acknowledged nothing that is not there.
func TestFailingLogEndsTheProcess(t *testing.T) {
	for _, tt := range []struct {
		name, makes string
		whole       func(acknowledged int) bool
	}{
		{"it cannot be written", "", func(n int) bool { return n == 50 }},
		{"the next one cannot be made", "1", func(n int) bool { return n > 50 }},
	} {
		t.Run(tt.name, func(t *testing.T) { failingLogEndsTheProcess(t, tt.makes, tt.whole) })
	}
}

func failingLogEndsTheProcess(t *testing.T, makes string, whole func(acknowledged int) bool) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/store"
	child := exec.Command(executable, "-test.run=^$")
	child.Env = append(os.Environ(), childDir+"="+dir, childMakes+"="+makes)
	var stdout, stderr bytes.Buffer
	child.Stdout, child.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := child.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the child ended with %v:\n%s", err, &stderr)
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, "the process ends") || !strings.Contains(last, "no space left") {
		t.Errorf("the last line is %q", last)
	}
	acknowledged := 0
	for line := bufio.NewScanner(&stdout); line.Scan(); {
		acknowledged++
	}
	options := testOptions(t, nil)
	options.Dir, options.FS = dir, vfs.Default
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	start, err := s.Start("bob", "phone")
	if err != nil || !whole(acknowledged) || start.Head < uint64(acknowledged) {
		t.Errorf("%d were acknowledged, %d are there, %v", acknowledged, start.Head, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Tables that cannot be written for a while cost nothing but time, and no core: each is tried again after a pause.
func TestFailingTablesAreSurvived(t *testing.T) {
	disk := vfs.NewMem()
	tables := &failing{suffix: ".sst", cause: syscall.EIO}
	var lines lineCounter
	options := testOptions(t, errorfs.Wrap(disk, tables))
	options.Log = slog.New(slog.NewTextHandler(&lines, nil))
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	var paused atomic.Int64
	s.disk.pause = func(d time.Duration) {
		if d == 100*time.Millisecond {
			paused.Add(1)
		}
	}
	tables.on.Store(true)
	const sends = 2000 // many times what the memtables hold
	var answered atomic.Int64
	var sender sync.WaitGroup
	sender.Go(func() {
		for n := range sends {
			if a := storetest.Call(s, directSend(n)); a.Refusal != store.None {
				t.Errorf("send %d: %v", n, a.Refusal)
				return
			}
			answered.Add(1)
		}
	})
	poll(t, "the stall", func() bool { return s.counters.stalls.Get() > 0 && s.counters.backgroundErrors.Get() > 100 })
	if n := answered.Load(); n == 0 || n == sends {
		t.Errorf("%d of %d sends were answered while no table could be written", n, sends)
	}
	tables.on.Store(false)
	sender.Wait()
	if start, err := s.Start("bob", "phone"); err != nil || start.Head != sends {
		t.Errorf("%+v, %v", start, err)
	}
	if failed := int64(s.counters.backgroundErrors.Get()); paused.Load() < failed {
		t.Errorf("%d pauses for %d errors", paused.Load(), failed)
	}
	if n := lines.count.Load(); n > 10 {
		t.Errorf("%d lines were logged for %d errors", n, s.counters.backgroundErrors.Get())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := (Tool{Dir: options.Dir, FS: disk}).Verify(func(fault string) { t.Error(fault) }); err != nil {
		t.Error(err)
	}
}

// Pebble replays its log into tables when it opens, and tries for ever when it cannot write them. A server that starts
// on a full disk says so and ends; it opens when there is space.
func TestOpeningOnAFullDisk(t *testing.T) {
	disk := newDisk()
	s, err := Open(testOptions(t, disk))
	if err != nil {
		t.Fatal(err)
	}
	const sends = 100 // in the log alone
	for n := range sends {
		storetest.Call(s, directSend(n))
	}
	for name, open := range map[string]func(o Options) error{
		"server":    func(o Options) error { _, err := Open(o); return err },
		"new-epoch": func(o Options) error { return Tool{Dir: o.Dir, FS: o.FS, Log: o.Log}.NewEpoch() },
	} {
		t.Run(name, func(t *testing.T) {
			tables := &failing{suffix: ".sst", cause: syscall.ENOSPC}
			tables.on.Store(true)
			options := testOptions(t, errorfs.Wrap(disk.CrashClone(vfs.CrashCloneCfg{}), tables))
			result := make(chan error, 1)
			go func() { result <- open(options) }()
			select {
			case err := <-result:
				if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make space") {
					t.Error(err)
				}
			case <-time.After(crashDeadline):
				t.Fatal("it still tries")
			}
			tables.on.Store(false)
			var again *Store // as soon as the attempt that was given up has let go of the directory
			poll(t, "the store", func() bool { again, err = Open(options); return err == nil })
			if err != nil {
				t.Fatal(err)
			}
			if start, err := again.Start("bob", "phone"); err != nil || start.Head != sends {
				t.Errorf("%+v, %v", start, err)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

type lineCounter struct{ count atomic.Int64 }

func (l *lineCounter) Write(p []byte) (int, error) {
	l.count.Add(1)
	return len(p), nil
}

// An error of the engine while a command is resolved ends the store as well: half a batch must not be committed.
func TestFailingReadEndsTheStore(t *testing.T) {
	broken := errors.New("unreadable sector")
	options := testOptions(t, vfs.NewMem())
	var fails atomic.Bool
	options.wrap = func(e store.Engine) store.Engine { return &unreadable{e, &fails, broken} }
	fatal := make(chan error, 1)
	options.Commit.Fatal = func(err error) { fatal <- err }
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Call(s, directSend(0))
	fails.Store(true)
	send := directSend(1)
	send.ToUser = "somebody who is not cached"
	send.Reply = replyFunc(func(a store.Answer) { t.Errorf("answered %+v", a) })
	s.Submit(send)
	if err := <-fatal; !errors.Is(err, broken) {
		t.Errorf("ended by %v", err)
	}
	if _, err := s.Start("bob", "phone"); !errors.Is(err, broken) {
		t.Errorf("a reader was told %v", err)
	}
	if err := s.Close(); !errors.Is(err, broken) {
		t.Errorf("closed with %v", err)
	}
}

type unreadable struct {
	store.Engine
	fails *atomic.Bool
	err   error
}

func (u *unreadable) Get(dst, key []byte) ([]byte, bool, error) {
	if u.fails.Load() {
		return dst, false, u.err
	}
	return u.Engine.Get(dst, key)
}
