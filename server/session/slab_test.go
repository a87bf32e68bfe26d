package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"
)

func open(t testing.TB, b *Slab) *Session {
	t.Helper()
	s, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSlabOpensFreshSessions(t *testing.T) {
	b := NewSlab(5)
	first, second := open(t, b), open(t, b)
	if first.ID != NewConnID(5, 0, 1) || second.ID != NewConnID(5, 1, 1) {
		t.Errorf("got %s and %s", first.ID, second.ID)
	}
	if first.State != Opened || b.Live() != 2 || b.Slots() != 2 {
		t.Errorf("state %s, %d live, %d slots", first.State, b.Live(), b.Slots())
	}
	if b.Get(first.ID) != first || b.Get(second.ID) != second || b.At(1) != second {
		t.Error("a session is not found under its own name")
	}
}

func TestSlabForgetsWhatWasInASlot(t *testing.T) {
	b := NewSlab(0)
	s := open(t, b)
	s.Acked, s.Refused, s.Flags, s.Sends, s.Header = 7, 8, Reading, 9, [4]byte{1}
	b.Free(s)
	if s.State != Free {
		t.Errorf("a freed session is %s", s.State)
	}
	s = open(t, b)
	if want := (Session{ID: NewConnID(0, 0, 2), State: Opened}); *s != want {
		t.Errorf("got %+v, want %+v", *s, want)
	}
}

func TestSlabReusesTheOldestSlotFirst(t *testing.T) {
	b := NewSlab(0)
	var all []*Session
	for range 6 {
		all = append(all, open(t, b))
	}
	order := []int{4, 1, 5, 0}
	for _, i := range order {
		b.Free(all[i])
	}
	for _, slot := range order {
		if s := open(t, b); s.ID != NewConnID(0, uint32(slot), 2) {
			t.Errorf("got %s, want slot %d in its second generation", s.ID, slot)
		}
	}
	if s := open(t, b); s.ID != NewConnID(0, 6, 1) {
		t.Errorf("with no free slot left: got %s, want a fresh one", s.ID)
	}
}

func TestSlabHidesStaleAndForeignNames(t *testing.T) {
	b := NewSlab(3)
	stale := open(t, b).ID
	if got := b.Get(stale); got == nil {
		t.Fatal("a live session is not found")
	}
	b.Free(b.Get(stale))
	if b.Get(stale) != nil {
		t.Error("a freed session is found")
	}
	live := open(t, b)
	for _, tt := range []struct {
		name string
		id   ConnID
	}{
		{"the generation before", stale},
		{"the generation after", NewConnID(3, 0, 3)},
		{"no connection", 0},
		{"generation 0", NewConnID(3, 0, 0)},
		{"another loop", NewConnID(4, 0, 2)},
		{"a slot never used", NewConnID(3, 1, 1)},
		{"a slot beyond the chunk", NewConnID(3, MaxSlots-1, 1)},
	} {
		if got := b.Get(tt.id); got != nil {
			t.Errorf("%s (%s): found %s", tt.name, tt.id, got.ID)
		}
	}
	if b.Get(live.ID) != live {
		t.Error("the live session is not found")
	}
}

// The generation after the last would be one that was used before.
func TestSlabRetiresASpentSlot(t *testing.T) {
	b := NewSlab(0)
	s := open(t, b)
	s.ID = NewConnID(0, 0, math.MaxUint32-1)
	b.Free(s)
	last := open(t, b)
	if last.ID != NewConnID(0, 0, math.MaxUint32) || b.Get(last.ID) != last {
		t.Fatalf("got %s, want the last generation of slot 0", last.ID)
	}
	other := open(t, b)
	b.Free(last)
	b.Free(other)
	if b.Get(last.ID) != nil || b.Live() != 0 {
		t.Errorf("after the end: %d live", b.Live())
	}
	for range 3 {
		s := open(t, b)
		if s.ID.Slot() == 0 {
			t.Errorf("slot 0 is used again as %s", s.ID)
		}
		b.Free(s)
	}
}

func TestSlabIsBounded(t *testing.T) {
	b := NewSlab(0)
	free := open(t, b)
	b.Free(free)
	b.fresh = MaxSlots
	if s := open(t, b); s.ID.Slot() != 0 {
		t.Errorf("got %s, want the free slot", s.ID)
	}
	if s, err := b.Open(); err == nil {
		t.Errorf("slot %d was opened beyond the last", s.ID.Slot())
	}
}

// Sessions stay where they are while the slab grows, and nothing of one is in another.
func TestSlabGrowsOverChunks(t *testing.T) {
	b := NewSlab(2)
	const n = 3*chunkSessions + 1
	all := make([]*Session, 0, n)
	for i := range n {
		s := open(t, b)
		s.Acked = uint64(i)
		all = append(all, s)
	}
	if len(b.chunks) != 4 || b.Live() != n {
		t.Fatalf("%d chunks, %d live", len(b.chunks), b.Live())
	}
	for i, s := range all {
		if s.ID != NewConnID(2, uint32(i), 1) || s.Acked != uint64(i) || b.At(uint32(i)) != s || b.Get(s.ID) != s {
			t.Fatalf("session %d has become %s with %d", i, s.ID, s.Acked)
		}
	}
}

// Random opens and frees against a map: a name is never given twice, and finds its own session or none.
func TestSlabAgainstAModel(t *testing.T) {
	const steps = 200_000
	rng := rand.New(rand.NewPCG(1, 2))
	b := NewSlab(7)
	used := make(map[ConnID]bool)
	live := make(map[ConnID]uint64) // and what was written there
	var names []ConnID
	var freed []uint32 // slots, oldest first
	for step := range uint64(steps) {
		if len(names) == 0 || rng.IntN(100) < 51 {
			s := open(t, b)
			if used[s.ID] {
				t.Fatalf("step %d: %s is used a second time", step, s.ID)
			}
			if len(freed) > 0 {
				if s.ID.Slot() != freed[0] {
					t.Fatalf("step %d: slot %d before slot %d, which is free longer", step, s.ID.Slot(), freed[0])
				}
				freed = freed[1:]
			}
			used[s.ID], live[s.ID], s.Head = true, step, step
			names = append(names, s.ID)
		} else {
			i := rng.IntN(len(names))
			id := names[i]
			names[i] = names[len(names)-1]
			names = names[:len(names)-1]
			s := b.Get(id)
			if s == nil || s.Head != live[id] {
				t.Fatalf("step %d: %s is lost", step, id)
			}
			b.Free(s)
			delete(live, id)
			freed = append(freed, id.Slot())
		}
	}
	if b.Live() != len(live) {
		t.Errorf("%d live, want %d", b.Live(), len(live))
	}
	for id := range used {
		s := b.Get(id)
		if head, ok := live[id]; ok && (s == nil || s.Head != head) || !ok && s != nil {
			t.Errorf("%s: found %v, live %v", id, s, ok)
		}
	}
}

func TestSlabMakesNoGarbage(t *testing.T) {
	b := NewSlab(0)
	b.Free(open(t, b))
	allocs := testing.AllocsPerRun(1000, func() {
		s, err := b.Open()
		if err != nil {
			t.Fatal(err)
		}
		if b.Get(s.ID) != s {
			t.Fatal("not found")
		}
		b.Free(s)
	})
	if allocs != 0 {
		t.Errorf("%v allocations for an Open and a Free", allocs)
	}
}

// What a loop keeps for each session, with ids of the usual length: outside the Go heap and on it.
func TestMemoryPerSession(t *testing.T) {
	const n = 16 * chunkSessions
	before := heap()
	b, a := NewSlab(0), new(Arena)
	x := NewIndex(b, a)
	for i := range n {
		s := open(t, b)
		s.UserHash = rand.Uint64()
		if err := x.SetIDs(s, fmt.Appendf(nil, "user-%08d", i), []byte("pixel-9-4f1c")); err != nil {
			t.Fatal(err)
		}
		x.Add(s)
	}
	onHeap := int64(heap()-before) / n
	slab := len(b.chunks) * chunkSessions * int(unsafe.Sizeof(Session{})+unsafe.Sizeof(Plan{})) / n
	ids := 0
	for i := range a.pools {
		ids += len(a.pools[i].chunks) * arenaChunk
	}
	ids /= n
	t.Logf("bytes per session: slab %d, ids %d, on the Go heap %d", slab, ids, onHeap)
	if slab > 136 || ids > 64 || onHeap > 48 {
		t.Errorf("bytes per session: slab %d (most 136), ids %d (most 64), on the Go heap %d (most 48)", slab, ids, onHeap)
	}
	runtime.KeepAlive(x)
}

// heap returns the bytes of live objects.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
