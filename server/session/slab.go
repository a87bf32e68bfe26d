package session

import (
	"fmt"
	"math"
	"unsafe"

	"golang.org/x/sys/unix"

	"lifeline/server/liveness"
)

const chunkSessions = 4096

// Plan is when a session is to be looked at. It lies apart from the session, so that a pass over sessions that are due for
// nothing reads eight bytes of each and not a line of the cache or two. Owned by the loop.
type Plan struct {
	Due      liveness.Time // the sweep passes over the session until then; it may come too early, never too late
	RouteDue liveness.Time // the record in the shared table is to be rewritten
}

// Never is the Due of what is due for nothing.
const Never = ^liveness.Time(0)

// Slab is the table of one loop's sessions and their plans, in chunks outside the Go heap. Slots are reused oldest first,
// so that a stale ConnID meets another generation for as long as possible; a slot whose generations are used up retires.
// Owned by the loop.
type Slab struct {
	loop   int
	chunks [][]Session
	plans  [][]Plan
	fresh  uint32 // slots never used start here
	live   int
	first  uint32 // oldest free slot + 1, 0 = none
	last   uint32
}

// NewSlab returns an empty slab for the loop of that index.
func NewSlab(loop int) *Slab { return &Slab{loop: loop} }

// Open takes a slot for a new connection. It fails when MaxSlots are in use or the system gives no memory.
func (b *Slab) Open() (*Session, error) {
	slot, generation := b.fresh, uint32(1)
	if b.first != 0 {
		slot = b.first - 1
		s := b.at(slot)
		generation = s.ID.Generation() + 1
		if b.first = s.next; b.first == 0 {
			b.last = 0
		}
	} else {
		if slot == MaxSlots {
			return nil, fmt.Errorf("open a session: all %d slots of loop %d are in use", MaxSlots, b.loop)
		}
		if err := b.reach(slot); err != nil {
			return nil, err
		}
		b.fresh++
	}
	s := b.at(slot)
	*s = Session{ID: NewConnID(b.loop, slot, generation), State: Opened}
	*b.Plan(slot) = Plan{}
	b.live++
	return s, nil
}

// Free gives the slot back. The session must be out of the index and its ids out of the arena.
func (b *Slab) Free(s *Session) {
	b.live--
	id := s.ID
	*s = Session{ID: id}
	b.Plan(id.Slot()).Due = Never
	if id.Generation() == math.MaxUint32 {
		return
	}
	if b.last != 0 {
		b.at(b.last - 1).next = id.Slot() + 1
	} else {
		b.first = id.Slot() + 1
	}
	b.last = id.Slot() + 1
}

// Get returns the session of that ConnID, or nil when the connection is gone.
func (b *Slab) Get(id ConnID) *Session {
	if id.Slot() >= b.fresh {
		return nil
	}
	if s := b.at(id.Slot()); s.ID == id && s.State != Free {
		return s
	}
	return nil
}

// Plan returns the plan of the session in a slot below Slots.
func (b *Slab) Plan(slot uint32) *Plan { return &b.plans[slot/chunkSessions][slot%chunkSessions] }

// At returns the session in a slot below Slots; it may be Free.
func (b *Slab) At(slot uint32) *Session { return b.at(slot) }

// Slots is the number of slots ever used.
func (b *Slab) Slots() uint32 { return b.fresh }

// Live is the number of open connections.
func (b *Slab) Live() int { return b.live }

func (b *Slab) at(slot uint32) *Session { return &b.chunks[slot/chunkSessions][slot%chunkSessions] }

func (b *Slab) reach(slot uint32) error {
	if int(slot/chunkSessions) < len(b.chunks) {
		return nil
	}
	const sessions, plans = chunkSessions * unsafe.Sizeof(Session{}), chunkSessions * unsafe.Sizeof(Plan{})
	mem, err := offHeap(int(sessions + plans))
	if err != nil {
		return fmt.Errorf("grow the session slab: %w", err)
	}
	b.chunks = append(b.chunks, unsafe.Slice((*Session)(unsafe.Pointer(&mem[0])), chunkSessions))
	b.plans = append(b.plans, unsafe.Slice((*Plan)(unsafe.Pointer(&mem[sessions])), chunkSessions))
	return nil
}

// offHeap returns zeroed memory the garbage collector neither scans nor counts. It may hold no Go pointer and is kept
// for the life of the process.
func offHeap(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}
