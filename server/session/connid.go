package session

import "fmt"

// ConnID identifies one Conn of this node and is never reused: loop (8 bits), slot (24), generation (32). The zero
// value names no connection.
type ConnID uint64

const (
	// MaxLoops is the number of event loops a ConnID and a Directory mask can name.
	MaxLoops = 64
	// MaxSlots is the number of connections of one loop.
	MaxSlots = 1 << 24
)

// NewConnID joins the three parts.
func NewConnID(loop int, slot, generation uint32) ConnID {
	return ConnID(uint64(loop)<<56 | uint64(slot)<<32 | uint64(generation))
}

// Loop returns the index of the loop that owns the connection.
func (id ConnID) Loop() int { return int(id >> 56) }

// Slot returns the connection's place in its loop's slab.
func (id ConnID) Slot() uint32 { return uint32(id>>32) & (MaxSlots - 1) }

// Generation tells the connections apart that have used the same slot. It is never 0.
func (id ConnID) Generation() uint32 { return uint32(id) }

func (id ConnID) String() string {
	return fmt.Sprintf("%d.%d.%d", id.Loop(), id.Slot(), id.Generation())
}
