package session

import (
	"math"
	"testing"
)

func TestConnID(t *testing.T) {
	for _, tt := range []struct {
		loop             int
		slot, generation uint32
		id               ConnID
		text             string
	}{
		{0, 0, 1, 0x00_000000_00000001, "0.0.1"},
		{1, 2, 3, 0x01_000002_00000003, "1.2.3"},
		{63, MaxSlots - 1, math.MaxUint32, 0x3f_ffffff_ffffffff, "63.16777215.4294967295"},
		{255, 0, math.MaxUint32, 0xff_000000_ffffffff, "255.0.4294967295"},
	} {
		id := NewConnID(tt.loop, tt.slot, tt.generation)
		if id != tt.id || id.String() != tt.text {
			t.Errorf("got %#x %s, want %#x %s", uint64(id), id, uint64(tt.id), tt.text)
		}
		if id.Loop() != tt.loop || id.Slot() != tt.slot || id.Generation() != tt.generation {
			t.Errorf("%s: read back as %d %d %d", tt.text, id.Loop(), id.Slot(), id.Generation())
		}
	}
}
