package store

import (
	"strings"
	"testing"
)

func TestValidID(t *testing.T) {
	tests := []struct {
		name, id string
		want     bool
	}{
		{"empty", "", false},
		{"one byte", "a", true},
		{"space inside", "ann lee", true},
		{"64 bytes", strings.Repeat("a", 64), true},
		{"65 bytes", strings.Repeat("a", 65), false},
		{"32 runes of two bytes", strings.Repeat("é", 32), true},
		{"33 runes of two bytes", strings.Repeat("é", 33), false},
		{"emoji", "🚋", true},
		{"newline", "a\nb", false},
		{"NUL", "a\x00", false},
		{"the separator of direct conversations", "a\x1fb", false},
		{"delete", "a\x7f", false},
		{"a C1 control", "a\u0085", false},
		{"not UTF-8", "a\xff", false},
		{"a cut rune", "\xc3", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := ValidID(test.id); got != test.want {
				t.Errorf("ValidID(%q) = %v, want %v", test.id, got, test.want)
			}
		})
	}
}

func TestValidClientID(t *testing.T) {
	for size, want := range map[int]bool{0: false, 1: true, 16: true, 64: true, 65: false} {
		if got := ValidClientID(make([]byte, size)); got != want {
			t.Errorf("ValidClientID of %d bytes = %v, want %v", size, got, want)
		}
	}
}

func TestValidConversation(t *testing.T) {
	tests := []struct {
		name, conversation string
		want               bool
	}{
		{"group", "tram-drivers", true},
		{"direct", Direct("bob", "alice"), true},
		{"with oneself", Direct("alice", "alice"), true},
		{"wrong order", "bob\x1falice", false},
		{"one peer", "alice\x1f", false},
		{"three peers", "a\x1fb\x1fc", false},
		{"empty", "", false},
		{"too long", strings.Repeat("g", 65), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := ValidConversation(test.conversation); got != test.want {
				t.Errorf("ValidConversation(%q) = %v, want %v", test.conversation, got, test.want)
			}
		})
	}
}
