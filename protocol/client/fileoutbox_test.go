package client

import (
	"bytes"
	"fmt"
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
