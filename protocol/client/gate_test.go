package client

import (
	"testing"

	"lifeline/protocol"
)

// [P-6.5], [P-6.13]
func TestGate(t *testing.T) {
	message := func(pos uint64) protocol.Entry { return protocol.Entry{Pos: pos, Kind: protocol.EntryMessage} }
	void := func(from, to uint64) protocol.Entry {
		return protocol.Entry{Pos: from, Kind: protocol.EntryVoid, Void: protocol.Void{To: to}}
	}
	for _, tt := range []struct {
		name     string
		received uint64
		entry    protocol.Entry
		want     verdict
		after    uint64
	}{
		{"the next", 7, message(8), admit, 8},
		{"the first of all", 0, message(1), admit, 1},
		{"a kind of the future", 7, protocol.Entry{Pos: 8}, admit, 8},
		{"the last again", 7, message(7), repeat, 7},
		{"an old one", 7, message(1), repeat, 7},
		{"one is missing", 7, message(9), hole, 7},
		{"a run", 7, void(8, 20), admit, 20},
		{"a run of one", 7, void(8, 8), admit, 8},
		{"a run that begins earlier", 7, void(3, 20), admit, 20},
		{"an old run", 7, void(3, 7), repeat, 7},
		{"a run behind a hole", 7, void(9, 20), hole, 7},
		{"a run that ends before it begins", 7, void(8, 2), repeat, 7},
	} {
		g := gate{received: tt.received}
		if got := g.check(&tt.entry); got != tt.want || g.received != tt.after {
			t.Errorf("%s: verdict %d at %d, want %d at %d", tt.name, got, g.received, tt.want, tt.after)
		}
	}
}
