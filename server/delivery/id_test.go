package delivery

import (
	"strings"
	"testing"

	"lifeline/protocol"
	"lifeline/store"
)

// TestOneRuleForIDs: the wire and the store do not know each other, so each has the rule [P-3.7]; what one takes the other
// must.
func TestOneRuleForIDs(t *testing.T) {
	if protocol.MaxIDBytes != store.MaxIDBytes || protocol.PayloadCeiling != store.MaxPayload {
		t.Error("the limits differ")
	}
	cases := []string{"", "a", "ü", strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("é", 32), strings.Repeat("é", 33),
		"a\x00", "a\x1fb", "a\x7f", "a\u0085", "a\u009f", "a\u00a0", "a b", "\xff", "\xc3", "a\u2028", "a\ufeff", "a\ufffd", "\u202e"}
	for r := range rune(0x300) {
		cases = append(cases, "x"+string(r))
	}
	for _, id := range cases {
		if wire, stored := protocol.ValidID([]byte(id)), store.ValidID(id); wire != stored {
			t.Errorf("%q: the wire says %v, the store %v", id, wire, stored)
		}
	}
}
