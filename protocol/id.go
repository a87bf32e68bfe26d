package protocol

import "unicode/utf8"

// MaxIDBytes bounds user, device and group ids, and client ids.
const MaxIDBytes = 64

// Sizes of ids made at random or at commit.
const (
	EpochBytes     = 16
	MessageIDBytes = 16
)

// ValidID tells whether b may be a user, device or group id: valid UTF-8, 1 to 64 bytes, no control characters. So
// 0x1F, which joins the two ids of a direct conversation, is in none [P-3.7].
func ValidID(b []byte) bool {
	if len(b) == 0 || len(b) > MaxIDBytes {
		return false
	}
	for i := 0; i < len(b); {
		if c := b[i]; c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if n == 1 || r < 0xa0 {
			return false
		}
		i += n
	}
	return true
}

// DirectConversation is the id of the conversation of two users: the smaller id in byte order, 0x1F, the larger one
// [P-3.9].
func DirectConversation(a, b string) string {
	return min(a, b) + "\x1f" + max(a, b)
}

// ValidClientID tells whether b may be a Send's client id: 1 to 64 bytes of any value [P-3.8].
func ValidClientID(b []byte) bool { return len(b) >= 1 && len(b) <= MaxIDBytes }
