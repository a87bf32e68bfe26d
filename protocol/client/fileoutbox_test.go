package client

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func openOutbox(t *testing.T, path string) *FileOutbox {
	t.Helper()
	f, err := OpenFileOutbox(path, "bob/phone")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func load(t *testing.T, f *FileOutbox) []*Outgoing {
	t.Helper()
	waiting, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	return waiting
}

func TestFileOutboxKeepsMessagesAsTheyWere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox")
	want := []*Outgoing{
		{ToUser: "bob", ClientID: []byte{0}, Created: time.UnixMilli(1_700_000_000_123)},
		{ToGroup: "小组", ClientID: bytes.Repeat([]byte{255}, 64), Payload: []byte("hi"), NoNotify: true, Created: time.UnixMilli(5)},
		{ToUser: "c", ClientID: []byte("third"), Payload: bytes.Repeat([]byte{7}, 60<<10), Created: time.UnixMilli(-5)},
	}
	f := openOutbox(t, path)
	for _, m := range want {
		if err := f.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openOutbox(t, path)
	if got := load(t, f); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if err := f.Remove([][]byte{want[1].ClientID, []byte("unknown")}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openOutbox(t, path)
	if got := load(t, f); len(got) != 2 || !reflect.DeepEqual(got[1], want[2]) {
		t.Errorf("after the removal: %+v", got)
	}
}

func TestFileOutboxStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox")
	f := openOutbox(t, path)
	f.most, f.due = 4<<10, 4<<10
	name := func(n int) []byte { return fmt.Appendf(nil, "message %d", n) }
	for n := range 1000 {
		m := &Outgoing{ToUser: "bob", ClientID: name(n), Payload: make([]byte, 100), Created: time.UnixMilli(int64(n))}
		if err := f.Add(m); err != nil {
			t.Fatal(err)
		}
		if n < 5 {
			continue // five stay for good
		}
		if err := f.Remove([][]byte{name(n)}); err != nil {
			t.Fatal(err)
		}
		if f.journal.size > 5<<10 {
			t.Fatalf("after %d messages it has %d bytes", n, f.journal.size)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	waiting := load(t, openOutbox(t, path))
	if len(waiting) != 5 {
		t.Fatalf("%d wait, want 5", len(waiting))
	}
	for n, m := range waiting {
		if string(m.ClientID) != string(name(n)) || m.Created.UnixMilli() != int64(n) {
			t.Errorf("message %d is %s of %v", n, m.ClientID, m.Created)
		}
	}
}

// A thousand messages that end together do not fit one record.
func TestFileOutboxForgetsManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox")
	f := openOutbox(t, path)
	gone := make([][]byte, 3000)
	for i := range gone {
		gone[i] = fmt.Appendf(nil, "%064d", i)
	}
	for _, m := range []*Outgoing{{ToUser: "bob", ClientID: gone[2999]}, {ToUser: "bob", ClientID: []byte("stays")}} {
		if err := f.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(&Outgoing{ToUser: "bob", ClientID: []byte("comes")}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	waiting := load(t, openOutbox(t, path))
	if len(waiting) != 2 || string(waiting[0].ClientID) != "stays" || string(waiting[1].ClientID) != "comes" {
		t.Errorf("%d wait: %+v", len(waiting), waiting)
	}
}

// A message that is on the disk was sent, whatever becomes of the journal behind it: the user is not told to try again.
func TestFileOutboxThatCannotBeWrittenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox")
	f := openOutbox(t, path)
	f.most, f.due = 1, 1
	err1 := f.Add(&Outgoing{ToUser: "bob", ClientID: []byte("answered"), Payload: make([]byte, 500)})
	err2 := f.Remove([][]byte{[]byte("answered")})
	// The new journal finds its place taken.
	err3 := os.Rename(path, path+".kept")
	err4 := os.Mkdir(path, 0o700)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(&Outgoing{ToUser: "bob", ClientID: []byte("stored")}); err != nil {
		t.Errorf("a stored message: %v", err)
	}
	if err := f.Add(&Outgoing{ToUser: "bob", ClientID: []byte("lost")}); err == nil {
		t.Error("a journal in an unknown state took a message")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if waiting := load(t, openOutbox(t, path+".kept")); len(waiting) != 1 || string(waiting[0].ClientID) != "stored" {
		t.Errorf("%d wait: %+v", len(waiting), waiting)
	}
}
