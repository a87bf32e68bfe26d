package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	began := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	p := &progress{w: &out, began: began, total: 200}
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	expect := func(step, want string) {
		t.Helper()
		if out.String() != want {
			t.Errorf("%s: %q, want %q", step, out.String(), want)
		}
		out.Reset()
	}
	p.update(at(1999), 10, 100)
	p.clear()
	p.finish(at(1999), 10, 100)
	expect("before two seconds", "")
	p.update(at(4000), 10, 100)
	expect("half way", "\r\x1b[K[###############---------------]  50%  10 stored, 2/s, 4s")
	p.update(at(4100), 11, 110)
	expect("a moment later", "")
	p.clear()
	p.clear()
	expect("cleared once", "\r\x1b[K")
	p.update(at(4150), 12, 100)
	out.Reset()
	p.finish(at(5000), 20, 200)
	expect("at the end", "\r\x1b[K["+strings.Repeat("#", 30)+"] 100%  20 stored, 4/s, 5s\n")

	pipe := &progress{w: &out, began: began}
	pipe.update(at(10_000), 50, 1000)
	expect("from a pipe", "\r\x1b[K50 stored, 5/s, 10s")
	newProgress(&out, began, 0).update(at(10_000), 50, 1000)
	expect("nobody looks", "")
}

func TestInputSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, make([]byte, 321), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	if n := inputSize(f); n != 321 {
		t.Errorf("a file has %d bytes", n)
	}
	if n := inputSize(null) + inputSize(&bytes.Buffer{}); n != 0 || isTerminal(null) {
		t.Errorf("what is no file has %d bytes", n)
	}
}
