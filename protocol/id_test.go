package protocol

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// validID is the rule of [P-3.7] said in another way.
func validID(s string) bool {
	return s != "" && len(s) <= 64 && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// [P-3.7]: every character up to U+2FFF, a sample of those above, and every lone byte.
func TestValidID(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r += 1 + r/0x3000*97 {
		if s := "a" + string(r) + "b"; ValidID([]byte(s)) != validID(s) {
			t.Errorf("%U: valid %v", r, !validID(s))
		}
	}
	for b := range 256 {
		if s := string([]byte{'a', byte(b)}); ValidID([]byte(s)) != validID(s) {
			t.Errorf("%q: valid %v", s, !validID(s))
		}
	}
}

// [P-3.9]: by bytes, not by letters, and the same from both sides.
func TestDirectConversation(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"alice", "bob", "alice\x1fbob"},
		{"Zoe", "alice", "Zoe\x1falice"},
		{"a", "ab", "a\x1fab"},
		{"z", "é", "z\x1fé"},
		{"bob", "bob", "bob\x1fbob"},
	} {
		if one, other := DirectConversation(tt.a, tt.b), DirectConversation(tt.b, tt.a); one != tt.want || other != tt.want {
			t.Errorf("%s and %s: %q and %q, want %q", tt.a, tt.b, one, other, tt.want)
		}
	}
}

// [P-3.8]: client ids are any bytes.
func TestValidClientID(t *testing.T) {
	for size, want := range map[int]bool{0: false, 1: true, 16: true, 64: true, 65: false} {
		if got := ValidClientID(make([]byte, size)); got != want {
			t.Errorf("%d bytes: %v", size, got)
		}
	}
}
