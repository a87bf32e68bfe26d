package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// records opens a journal and returns what it holds.
func records(path, owner string) (got []string, err error) {
	j, err := openJournal(path, 'T', owner, func(content []byte) error {
		got = append(got, string(content))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return got, j.close()
}

// writeJournal returns the file's bytes after each of the records. Durable ones begin with a capital.
func writeJournal(t *testing.T, path string, contents ...string) (after []int, whole []byte) {
	t.Helper()
	j, err := openJournal(path, 'T', "me", func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	after = []int{int(j.size)}
	for _, content := range contents {
		if err := j.append([]byte(content), content[0] < 'a'); err != nil {
			t.Fatal(err)
		}
		after = append(after, int(j.size))
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if whole, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return after, whole
}

// A crash leaves any part of the last append: what was before it is there, and the journal goes on.
func TestJournalCutAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	contents := []string{"First", "Second, which is a little longer", "third"}
	after, whole := writeJournal(t, path, contents...)
	for size := range whole {
		for _, tail := range []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "garbage behind the end of it all"} {
			if size < after[0] && tail != "" {
				continue // the header is made durable before anything is behind it
			}
			if err := os.WriteFile(path, append(bytes.Clone(whole[:size]), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			want := 0
			for want+1 < len(after) && after[want+1] <= size {
				want++
			}
			got, err := records(path, "me")
			if err != nil {
				t.Fatalf("%d bytes and %q: %v", size, tail, err)
			}
			if strings.Join(got, "|") != strings.Join(contents[:want], "|") {
				t.Fatalf("%d bytes and %q: %q, want the first %d", size, tail, got, want)
			}
			writeJournal(t, path, "Fourth")
			if got, err = records(path, "me"); err != nil || len(got) != want+1 || got[want] != "Fourth" {
				t.Fatalf("%d bytes and %q, then one more: %q %v", size, tail, got, err)
			}
		}
	}
}

// Every bit that flips is found. Before a durable record that is damage, and the file is refused; behind the last one it
// may be a crash.
func TestJournalDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	after, whole := writeJournal(t, path, "First", "second", "Third", "fourth")
	for at := after[0]; at < len(whole); at++ {
		for bit := range 8 {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 1 << bit
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := records(path, "me")
			switch {
			case at < after[2] && !errors.Is(err, errDamaged):
				t.Fatalf("byte %d, bit %d: %q %v, want a refusal", at, bit, got, err)
			case at >= after[2] && at < after[3] && (err != nil || len(got) != 2):
				t.Fatalf("byte %d, bit %d: %q %v, want the first two", at, bit, got, err)
			case at >= after[3] && (err != nil || len(got) != 3):
				t.Fatalf("byte %d, bit %d: %q %v, want the first three", at, bit, got, err)
			}
			if err != nil {
				kept, readErr := os.ReadFile(path)
				if readErr != nil || !bytes.Equal(kept, damaged) {
					t.Fatalf("a refused file was changed")
				}
			}
		}
	}
}

func TestJournalIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	writeJournal(t, path, "First")
	if _, err := records(path, "you"); err == nil || !strings.Contains(err.Error(), `it belongs to "me"`) {
		t.Errorf("another owner: %v", err)
	}
	if _, err := openJournal(path, 'X', "me", nil); !errors.Is(err, errKind) {
		t.Errorf("another kind: %v", err)
	}
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(foreign, []byte("a letter to bob"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := records(foreign, "me"); !errors.Is(err, errKind) {
		t.Errorf("a letter: %v", err)
	}
	j, err := openJournal(path, 'T', "me", func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := records(path, "me"); !errors.Is(err, errLocked) {
		t.Errorf("opened twice: %v", err)
	}
	if err := j.replace([][]byte{[]byte("First")}); err != nil {
		t.Fatal(err)
	}
	if _, err := records(path, "me"); !errors.Is(err, errLocked) {
		t.Errorf("opened twice after a compaction: %v", err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if err := j.append([]byte("Late"), true); !errors.Is(err, os.ErrClosed) {
		t.Errorf("append behind close: %v", err)
	}
}

// A crash during a compaction leaves the old journal, or the new one, and perhaps a file beside it.
func TestJournalCompactionCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	_, old := writeJournal(t, path, "One", "Two", "Three")
	j, err := openJournal(path, 'T', "me", func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := j.replace([][]byte{[]byte("Four")}); err != nil {
		t.Fatal(err)
	}
	if err := j.append([]byte("Five"), true); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if got, err := records(path, "me"); err != nil || strings.Join(got, " ") != "Four Five" {
		t.Fatalf("after a compaction: %q %v", got, err)
	}
	next, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(next) + 1 {
		err1 := os.WriteFile(path, old, 0o600)
		err2 := os.WriteFile(path+journalSuffix, next[:size], 0o600)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if got, err := records(path, "me"); err != nil || strings.Join(got, " ") != "One Two Three" {
			t.Fatalf("%d bytes of the new file: %q %v", size, got, err)
		}
	}
}

func TestJournalRecordsAreBounded(t *testing.T) {
	j, err := openJournal(filepath.Join(t.TempDir(), "journal"), 'T', "me", func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.close() }()
	before := j.size
	for _, size := range []int{0, recordMost + 1} {
		if err := j.append(make([]byte, size), true); err == nil || j.size != before {
			t.Errorf("a record of %d bytes, which no journal is read with: %v", size, err)
		}
	}
	if err := j.append(make([]byte, recordMost), true); err != nil {
		t.Error(err)
	}
}

func TestJournalOnAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{path: "journal", file: full}
	if err := j.append([]byte("First"), true); err == nil {
		t.Error("a full disk took a record")
	}
	if j.size != 0 {
		t.Errorf("the journal counts %d bytes", j.size)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
}

const killed = "LIFELINE_TEST_JOURNAL"

// A process is killed while it writes, again and again on the same files: what it reported as stored is there.
func TestFilesSurviveKill(t *testing.T) {
	dir := t.TempDir()
	var pos uint64
	waiting := map[string]bool{}
	for round := range 10 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriteUntilKilled$")
		cmd.Env = append(os.Environ(), killed+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 10*round+5 && lines.Scan(); n++ {
			pos = follow(t, lines.Text(), waiting)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it said before the end reached it
			pos = follow(t, lines.Text(), waiting)
		}
		_ = cmd.Wait() // it was killed
		checkKilled(t, dir, pos, waiting)
	}
	if pos < 100 {
		t.Errorf("only %d positions were stored in all", pos)
	}
}

// follow reads "pos", then the message that was added as pos and the one that was removed.
func follow(t *testing.T, line string, waiting map[string]bool) uint64 {
	t.Helper()
	pos, err := strconv.ParseUint(line, 10, 64)
	if err != nil {
		t.Fatalf("the writer says %q", line)
	}
	waiting[fmt.Sprint(pos)] = true
	delete(waiting, fmt.Sprint(pos-3))
	return pos
}

func checkKilled(t *testing.T, dir string, pos uint64, waiting map[string]bool) {
	t.Helper()
	inbox := openInbox(t, filepath.Join(dir, "inbox"))
	p, known, err := inbox.Progress()
	if err != nil || !known || p.Pos < pos || p.Pos > pos+1 {
		t.Fatalf("position %v %v %v, and %d was reported", p, known, err, pos)
	}
	if seen, _ := inbox.Seen(id(int(pos))); !seen {
		t.Fatalf("message %d was forgotten", pos)
	}
	outbox := openOutbox(t, filepath.Join(dir, "outbox"))
	have := map[string]bool{}
	for _, m := range load(t, outbox) {
		have[string(m.ClientID)] = true
	}
	for name := range waiting {
		if !have[name] && name != fmt.Sprint(pos-2) { // the removal that was not reported any more
			t.Fatalf("message %s was lost; there are %v", name, have)
		}
	}
	if err := errors.Join(inbox.Close(), outbox.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestWriteUntilKilled is the process of TestFilesSurviveKill. By itself it proves that the files open.
func TestWriteUntilKilled(t *testing.T) {
	dir, endless := os.Getenv(killed), true
	if dir == "" {
		dir, endless = t.TempDir(), false
	}
	inbox, outbox := openInbox(t, filepath.Join(dir, "inbox")), openOutbox(t, filepath.Join(dir, "outbox"))
	inbox.most, inbox.due = 2<<10, 2<<10
	outbox.most, outbox.due = 2<<10, 2<<10
	p, known, err := inbox.Progress()
	if err == nil && !known {
		err = inbox.Reset(Progress{Epoch{1}, 0})
	}
	for pos := p.Pos + 1; err == nil && (endless || pos < 10); pos++ {
		err1 := outbox.Add(&Outgoing{ToUser: "bob", ClientID: fmt.Append(nil, pos), Payload: make([]byte, 50)})
		err2 := inbox.Commit([]MessageID{id(int(pos))}, pos)
		err3 := outbox.Remove([][]byte{fmt.Append(nil, pos-3)})
		err = errors.Join(err1, err2, err3)
		if endless {
			fmt.Println(pos)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
