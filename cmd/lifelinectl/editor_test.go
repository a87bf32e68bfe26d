package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// written is the line with a | where the cursor is.
func (e *editor) written() string {
	return string(e.text[:e.at]) + "|" + string(e.text[e.at:])
}

// Each case is what is typed, and the line then. Keys that are no characters are written as a terminal sends them.
func TestEditor(t *testing.T) {
	for _, tt := range []struct{ name, typed, want string }{
		{"characters", "hello", "hello|"},
		{"in the middle", "heo\x1b[D" + "ll", "hell|o"},
		{"backspace", "世界\x7f", "世|"},
		{"backspace at the beginning", "ab\x01\x7f", "|ab"},
		{"delete", "abc\x01\x1b[3~\x04", "|c"},
		{"delete at the end", "abc\x1b[3~\x04", "abc|"},
		{"beyond both ends", "a\x1b[C\x1b[C\x1b[D\x1b[D\x1b[D", "|a"},
		{"home and end", "abc\x01x\x05y", "xabcy|"},
		{"words", "one two  three\x1b[1;5D\x1b[1;5D", "one |two  three"},
		{"words forward", "one two\x01\x1b[1;5C\x1b[1;5C\x1b[1;5C", "one two|"},
		{"kill a word", "one two  \x17", "one |"},
		{"kill to the beginning", "one two\x1b[D\x15", "|o"},
		{"kill to the end", "one two\x1b[1;5D\x0b", "one |"},
		{"an earlier line", "one\rtwo\rthr\x1b[A\x1b[A", "one|"},
		{"beyond the first", "one\r\x1b[A\x1b[A\x1b[A", "one|"},
		{"and back", "one\rtwo\rthr\x1b[A\x1b[A\x1b[B\x1b[B\x1b[B", "thr|"},
		{"a changed earlier line is not kept", "one\r\x1b[Ax\x1b[B\x1b[A", "one|"},
		{"empty lines are not kept", "one\r  \r\x1b[A", "one|"},
	} {
		var k keys
		var e editor
		for _, one := range k.feed([]byte(tt.typed)) {
			if one.code == keyEnter {
				e.enter()
				continue
			}
			e.edit(one)
		}
		if got := e.written(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestEditorView(t *testing.T) {
	for _, tt := range []struct {
		written string // with the cursor
		width   int
		want    string
		column  int
	}{
		{"|", 10, "", 0},
		{"hello|", 10, "hello", 5},
		{"he|llo", 10, "hello", 2},
		{"hello world|", 6, "world", 5},
		{"hello| world", 6, "hello", 5},
		{"|hello world", 6, "hello", 0},
		{"世界你好|", 6, "你好", 4},
		{"two\nlines|", 20, "two⏎lines", 9},
		{"e\u0301|", 10, "e\u0301", 1},
	} {
		before, after, _ := strings.Cut(tt.written, "|")
		e := editor{text: []rune(before + after), at: len([]rune(before))}
		if text, column := e.view(tt.width); text != tt.want || column != tt.column {
			t.Errorf("%q in %d columns: %q with the cursor at %d, want %q at %d", tt.written, tt.width, text, column, tt.want, tt.column)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"short", 10, []string{"short"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"exactlyten and", 10, []string{"exactlyten", "and"}},
		{"a  wide   gap", 6, []string{"a", "wide", "gap"}},
		{"incomprehensibilities", 8, []string{"incompre", "hensibil", "ities"}},
		{"so incomprehensible", 8, []string{"so", "incompre", "hensible"}},
		{"two\nlines\n", 10, []string{"two", "lines", ""}},
		{"没有空格的文字也要换行", 8, []string{"没有空格", "的文字也", "要换行"}},
		{"mixed 中文 text", 8, []string{"mixed 中", "文 text"}},
	} {
		if got := wrap(tt.text, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("%q in %d columns: %q, want %q", tt.text, tt.width, got, tt.want)
		}
		for _, line := range wrap(tt.text, tt.width) {
			if textWidth(line) > tt.width {
				t.Errorf("%q in %d columns: %q is wider", tt.text, tt.width, line)
			}
		}
	}
}

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{{"hello", 5, "hello"}, {"hello!", 5, "hell…"}, {"你好吗", 6, "你好吗"}, {"你好吗?", 6, "你好…"}} {
		if got := fit(tt.text, tt.width); got != tt.want {
			t.Errorf("%q in %d columns: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

// The footer is taken away before anything is drawn, and the cursor stands where the user types.
func TestScreen(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out, size: func() int { return 40 }}
	e := &editor{text: []rune("hi"), at: 1}
	for _, tt := range []struct {
		lines, footer []string
		want          string
	}{
		{nil, nil, "me > hi\r\x1b[6C"},
		{[]string{"one", "two"}, []string{"below"}, "\r\x1b[Jone\r\ntwo\r\nbelow\r\nme > hi\r\x1b[6C"},
		{nil, []string{"a", "b"}, "\x1b[1A\r\x1b[Ja\r\nb\r\nme > hi\r\x1b[6C"},
		{nil, nil, "\x1b[2A\r\x1b[Jme > hi\r\x1b[6C"},
	} {
		out.Reset()
		if s.draw(tt.lines, tt.footer, "me > ", e); out.String() != tt.want {
			t.Errorf("%q over %q: %q, want %q", tt.lines, tt.footer, out.String(), tt.want)
		}
	}
	out.Reset()
	if s.close(); out.String() != "\r\x1b[J" {
		t.Errorf("at the end: %q", out.String())
	}
}

// A terminal that became narrower has broken the footer's lines into more rows: all of them are taken away.
func TestScreenThatIsResized(t *testing.T) {
	for _, tt := range []struct {
		now  int
		want string
	}{
		{50, "\x1b[3A\r\x1b[J"},
		{40, "\x1b[3A\r\x1b[J"},
		{20, "\x1b[5A\r\x1b[J"}, // two rows, one, one, and the cursor is in the second of what is typed
		{10, "\x1b[10A\r\x1b[J"},
	} {
		var out bytes.Buffer
		width := 40
		s := &screen{w: &out, color: true, size: func() int { return width }}
		footer := []string{s.paint(dim, strings.Repeat("a", 35)), "short", "你好你好你好"}
		s.draw(nil, footer, "me > ", &editor{text: []rune(strings.Repeat("x", 30)), at: 30})
		width = tt.now
		out.Reset()
		if s.close(); out.String() != tt.want {
			t.Errorf("from 40 to %d columns: %q, want %q", tt.now, out.String(), tt.want)
		}
	}
}
