package store

import (
	"unicode"
	"unicode/utf8"
)

// ValidID reports whether id can name a user, a device or a group: valid UTF-8 of 1 to MaxIDBytes bytes without
// control characters.
func ValidID(id string) bool {
	if id == "" || len(id) > MaxIDBytes || !utf8.ValidString(id) {
		return false
	}
	for _, r := range id {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}

// ValidClientID reports whether id can be a client id: 1 to MaxIDBytes bytes of any kind.
func ValidClientID(id []byte) bool { return len(id) >= 1 && len(id) <= MaxIDBytes }

// ValidConversation reports whether name is a group's id or a direct conversation's name as [Direct] makes it.
func ValidConversation(name string) bool {
	a, b, direct := Peers(name)
	if !direct {
		return ValidID(name)
	}
	return ValidID(a) && ValidID(b) && a <= b
}
