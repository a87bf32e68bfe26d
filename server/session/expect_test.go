package session

import (
	"testing"

	"lifeline/protocol"
)

// treatments is the whole table, written from docs/protocol.md and not from the code: for every state each of the 256
// types stands in exactly one list.
var treatments = map[State]map[Treatment][]span{
	// No frame is looked at: there is no connection, or its Close was written.
	Free:    {Ignore: {{0x00, 0xff}}},
	Closing: {Ignore: {{0x00, 0xff}}},
	Dead:    {Ignore: {{0x00, 0xff}}},

	// The first frame is Connect.
	Opened: {
		Handle:    {{0x01, 0x01}},
		Violation: {{0x00, 0x00}, {0x02, 0xff}},
	},

	// What comes behind Connect is kept until Connack is written.
	Authenticating: {Hold: {{0x00, 0xff}}},
	Starting:       {Hold: {{0x00, 0xff}}},

	Active: {
		Handle: {
			{0x04, 0x04}, // Ping
			{0x08, 0x08}, // ProbeAck
			{0x09, 0x09}, // State
			{0x0a, 0x0a}, // Send
			{0x0d, 0x0d}, // Ack
			{0x0e, 0x0e}, // Pull
			{0x16, 0x16}, // Reauth
			{0x17, 0x17}, // Bye
			{0x1b, 0x1b}, // Presence
		},
		Violation: {
			{0x01, 0x01}, // a second Connect
			{0x02, 0x02}, // Connack
			{0x05, 0x05}, // Pong
			{0x06, 0x06}, // Echo
			{0x07, 0x07}, // Probe
			{0x0b, 0x0b}, // Sendack
			{0x0c, 0x0c}, // Push
			{0x0f, 0x0f}, // Pulled
			{0x14, 0x14}, // ConversationList
			{0x18, 0x18}, // Result
			{0x19, 0x19}, // Error
			{0x1a, 0x1a}, // Close
			{0x1c, 0x1c}, // PresenceList
			{0xc0, 0xff}, // the line between nodes
		},
		Refuse: {
			{0x00, 0x00},
			{0x03, 0x03}, // never given
			{0x10, 0x13}, // Read, Recall, Conversation, Conversations: reserved
			{0x15, 0x15},
			{0x1d, 0x7f},
		},
		Ignore: {{0x80, 0xbf}},
	},
}

// span is a range of types, both ends included.
type span struct{ from, to int }

// [P-2.2], [P-2.5], [P-6.1]
func TestExpect(t *testing.T) {
	if len(treatments) != len(states) {
		t.Errorf("the table has %d states, the code %d", len(treatments), len(states))
	}
	for state, lists := range treatments {
		listed := [256]int{}
		for want, spans := range lists {
			for _, sp := range spans {
				for i := sp.from; i <= sp.to; i++ {
					listed[i]++
					if got := Expect(state, protocol.Type(i)); got != want {
						t.Errorf("%s, type %#04x (%s): treatment %d, want %d", state, i, protocol.Type(i), got, want)
					}
				}
			}
		}
		for i, n := range listed {
			if n != 1 {
				t.Errorf("%s, type %#04x stands in %d lists of the test", state, i, n)
			}
		}
	}
}
