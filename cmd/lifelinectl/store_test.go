package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lifeline/store"
	"lifeline/store/pebblestore"
)

// replies takes an answer.
type replies chan store.Answer

// Reply implements store.Replier.
func (r replies) Reply(a store.Answer) { r <- a }

// makeStore makes a directory with a few messages in it.
func makeStore(t *testing.T) (dir string, epoch store.Epoch) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	s, err := pebblestore.Open(pebblestore.Options{Dir: dir, CacheBytes: 1 << 20, MemTableBytes: 1 << 20, BallastBytes: -1,
		FloorBytes: 1, FloorPercent: -1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(replies, 1)
	for i := range 5 {
		if r := s.Submit(&store.Send{Reply: answers, Sender: "ann", SenderDevice: "phone", ToUser: "ben", ClientID: []byte{byte(i + 1)}, Payload: []byte("x")}); r != store.None {
			t.Fatal(r)
		}
		if a := <-answers; a.Refusal != store.None {
			t.Fatal(a.Refusal)
		}
	}
	epoch = s.Epoch()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, epoch
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), surroundings{nil, strings.NewReader(""), &out, &errs}, args)
	return code, out.String(), errs.String()
}

func TestStoreVerify(t *testing.T) {
	dir, _ := makeStore(t)
	code, out, errs := run(t, "store", "verify", dir)
	if code != 0 || out != "1 conversations, 5 messages, 2 users, 10 inbox entries, 0 cursors, 0 open obligations\n" {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	code, out, _ = run(t, "store", "verify", "-o", "json", dir)
	var v verdict
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 || v.Messages != 5 || v.Faults != 0 {
		t.Fatalf("code %d: %+v, %v", code, v, err)
	}
	if code, _, errs := run(t, "store", "verify", filepath.Join(dir, "nothing-here")); code != exitFailed || !strings.Contains(errs, "no store") {
		t.Errorf("a directory that is not there: code %d, %s", code, errs)
	}
	empty := t.TempDir()
	if code, _, errs := run(t, "store", "verify", empty); code != exitFailed || !strings.Contains(errs, "no store") {
		t.Errorf("an empty directory: code %d, %s", code, errs)
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("verify left %v in an empty directory, %v", left, err)
	}
	if code, _, _ := run(t, "store", "verify"); code != exitUsage {
		t.Errorf("no directory: code %d", code)
	}
	if code, _, _ := run(t, "store"); code != exitUsage {
		t.Errorf("no command: code %d", code)
	}
}

func TestVerifyFindsWhatIsBroken(t *testing.T) {
	v := verdict{Faults: 2, First: []string{"first", "second"}}
	var out bytes.Buffer
	err := printVerdict(surroundings{stdout: &out}, asText, &v)
	if err == nil || !strings.HasPrefix(err.Error(), "2 faults") || !strings.HasPrefix(out.String(), "first\nsecond\n0 conversations") {
		t.Fatalf("%v: %s", err, out.String())
	}
}

func TestRestoreAndNewEpoch(t *testing.T) {
	dir, epoch := makeStore(t)
	restored := filepath.Join(t.TempDir(), "restored")
	if code, _, errs := run(t, "store", "restore", dir, restored); code != 0 {
		t.Fatalf("code %d: %s", code, errs)
	}
	if code, _, errs := run(t, "store", "restore", dir, restored); code != exitFailed || !strings.Contains(errs, "nothing was changed") {
		t.Errorf("a second time: code %d, %s", code, errs)
	}
	if code, out, _ := run(t, "store", "verify", restored); code != 0 || !strings.HasPrefix(out, "1 conversations, 5 messages") {
		t.Errorf("code %d: %s", code, out)
	}
	second := epochOf(t, restored)
	if second == epoch {
		t.Error("the restored store has the epoch of its backup")
	}
	if code, _, errs := run(t, "store", "new-epoch", restored); code != 0 {
		t.Fatalf("code %d: %s", code, errs)
	}
	if third := epochOf(t, restored); third == second || third == epoch {
		t.Error("new-epoch changed nothing")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func epochOf(t *testing.T, dir string) store.Epoch {
	t.Helper()
	s, err := pebblestore.Open(pebblestore.Options{Dir: dir, CacheBytes: 1 << 20, MemTableBytes: 1 << 20, BallastBytes: -1,
		FloorBytes: 1, FloorPercent: -1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	return s.Epoch()
}
