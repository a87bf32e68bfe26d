package main

import (
	"fmt"
	"strings"
	"testing"
)

// typedKeys names the keys: characters as they are, others by their code.
func typedKeys(list []key) string {
	var b strings.Builder
	for _, k := range list {
		if k.code == keyRune {
			b.WriteString(strings.ReplaceAll(string(k.r), "\n", "⏎"))
		} else {
			fmt.Fprintf(&b, "<%d>", k.code)
		}
	}
	return b.String()
}

func TestKeys(t *testing.T) {
	name := func(codes ...keyCode) string {
		var list []key
		for _, c := range codes {
			list = append(list, key{code: c})
		}
		return typedKeys(list)
	}
	for _, tt := range []struct{ typed, want string }{
		{"hi", "hi"},
		{"世界👋é", "世界👋é"},
		{"a\rb\n", "a" + name(keyEnter) + "b" + name(keyEnter)},
		{"\x7f\x08", name(keyBackspace, keyBackspace)},
		{"\x01\x05\x02\x06\x0b\x15\x17", name(keyHome, keyEnd, keyLeft, keyRight, keyKillRest, keyKillLine, keyKillWord)},
		{"\x03\x04", name(keyInterrupt, keyEOF)},
		{"\x1b[A\x1b[B\x1b[C\x1b[D\x1bOA", name(keyUp, keyDown, keyRight, keyLeft, keyUp)},
		{"\x1b[3~\x1b[H\x1b[4~\x1b[1;5D\x1bf", name(keyDelete, keyHome, keyEnd, keyWordLeft, keyWordRight)},
		{"\x1b[15~\x1b[<0;1;1M\x1bz\x07\x00", ""},
		{"\x1b[200~two\r\nlines\tand \x1b[A \x03 more\x1b[201~\r", "two⏎⏎lines and   more" + name(keyEnter)},
		{"\xff\x9bok\xc2\x85", "ok"},
	} {
		for size := 1; size <= len(tt.typed); size++ {
			var k keys
			var got []key
			for rest := tt.typed; rest != ""; {
				n := min(size, len(rest))
				got = append(got, k.feed([]byte(rest[:n]))...)
				rest = rest[n:]
			}
			if s := typedKeys(got); s != tt.want || len(k.rest) != 0 {
				t.Errorf("%q in pieces of %d: %q and %q, want %q", tt.typed, size, s, k.rest, tt.want)
			}
		}
	}
}

func TestEndlessSequenceIsLetGo(t *testing.T) {
	var k keys
	k.feed([]byte("\x1b[" + strings.Repeat("1;", 500)))
	if len(k.rest) > 32 {
		t.Errorf("%d bytes are kept", len(k.rest))
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x1b[A\x1b[200~x\x1b[201~\xe4\xb8"))
	f.Fuzz(func(t *testing.T, typed []byte) {
		var k keys
		var e editor
		for _, c := range typed {
			for _, one := range k.feed([]byte{c}) {
				if one.code == keyEnter {
					e.enter()
				}
				e.edit(one)
				text, column := e.view(20)
				if e.at < 0 || e.at > len(e.text) || column < 0 || column >= 20 || textWidth(text) > 20 {
					t.Fatalf("cursor %d of %d runes, column %d of %q", e.at, len(e.text), column, text)
				}
			}
		}
	})
}
