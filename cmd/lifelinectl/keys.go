package main

import (
	"bytes"
	"unicode/utf8"
)

// keyCode names a key that is not a character.
type keyCode uint8

const (
	keyRune keyCode = iota // a character, or part of a paste
	keyNone                // a sequence that means nothing here
	keyEnter
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyKillLine // to the beginning
	keyKillRest // to the end
	keyKillWord
	keyRedraw
	keyInterrupt
	keyEOF // or delete, if there is text
)

type key struct {
	code keyCode
	r    rune
}

// keys cuts a terminal's bytes into keys. A character or sequence may come in pieces.
type keys struct {
	rest    []byte // the beginning of something
	pasting bool   // between the marks of a bracketed paste: everything is text
}

const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

var controls = map[byte]keyCode{
	0x01: keyHome, 0x02: keyLeft, 0x03: keyInterrupt, 0x04: keyEOF, 0x05: keyEnd, 0x06: keyRight, 0x08: keyBackspace,
	0x0a: keyEnter, 0x0b: keyKillRest, 0x0c: keyRedraw, 0x0d: keyEnter, 0x0e: keyDown, 0x10: keyUp, 0x15: keyKillLine,
	0x17: keyKillWord, 0x7f: keyBackspace,
}

var sequences = map[string]keyCode{
	"\x1b[A": keyUp, "\x1b[B": keyDown, "\x1b[C": keyRight, "\x1b[D": keyLeft, "\x1b[H": keyHome, "\x1b[F": keyEnd,
	"\x1bOA": keyUp, "\x1bOB": keyDown, "\x1bOC": keyRight, "\x1bOD": keyLeft, "\x1bOH": keyHome, "\x1bOF": keyEnd,
	"\x1b[1~": keyHome, "\x1b[4~": keyEnd, "\x1b[3~": keyDelete,
	"\x1b[1;5C": keyWordRight, "\x1b[1;5D": keyWordLeft, "\x1b[1;3C": keyWordRight, "\x1b[1;3D": keyWordLeft,
	"\x1bb": keyWordLeft, "\x1bf": keyWordRight, "\x1b\x7f": keyKillWord,
}

// feed returns the keys that are whole with these bytes.
func (k *keys) feed(p []byte) (out []key) {
	b := append(k.rest, p...)
	for len(b) > 0 {
		one, n := k.next(b)
		if n == 0 {
			break
		}
		if b = b[n:]; one.code != keyNone {
			out = append(out, one)
		}
	}
	k.rest = bytes.Clone(b)
	return out
}

// next cuts off one key; n is 0 when b ends inside it.
func (k *keys) next(b []byte) (one key, n int) {
	switch c := b[0]; {
	case c == 0x1b:
		return k.escape(b)
	case k.pasting && (c == '\r' || c == '\n'):
		return key{r: '\n'}, 1
	case k.pasting && c == '\t':
		return key{r: ' '}, 1
	case c < 0x20 || c == 0x7f:
		if code, ok := controls[c]; ok && !k.pasting {
			return key{code: code}, 1
		}
		return key{code: keyNone}, 1
	case !utf8.FullRune(b):
		return key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 || r >= 0x80 && r < 0xa0 {
		return key{code: keyNone}, n
	}
	return key{r: r}, n
}

// escape cuts off a sequence that begins with ESC.
func (k *keys) escape(b []byte) (one key, n int) {
	n = sequenceLength(b)
	if n == 0 {
		return key{}, 0
	}
	switch s := string(b[:n]); {
	case s == pasteBegins:
		k.pasting = true
	case s == pasteEnds:
		k.pasting = false
	case !k.pasting:
		if code, ok := sequences[s]; ok {
			return key{code: code}, n
		}
	}
	return key{code: keyNone}, n
}

// sequenceLength is 0 when b ends inside the sequence.
func sequenceLength(b []byte) int {
	switch {
	case len(b) < 2:
		return 0
	case b[1] == 'O':
		if len(b) < 3 {
			return 0
		}
		return 3
	case b[1] != '[':
		return 2
	}
	for i, c := range b[2:] {
		if c >= 0x40 && c <= 0x7e {
			return i + 3
		}
		if i > 16 {
			return i + 3 // nothing sends such a long one
		}
	}
	return 0
}
