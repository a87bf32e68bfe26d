package commit

// head is one cached head: a conversation's or an inbox's.
type head[T any] struct {
	name      string
	partition uint8
	touched   bool // by the batch being built: stays in the cache until that batch is in
	dirty     bool // changed by it
	value     T

	prev, next *head[T] // in the order of use, while not touched
}

// heads caches heads by name, the least recently used go first. Owned by the committer.
//
// Invariant: at most one head of a name exists while a batch may have changed it. So the batch being built reads its
// own changes, and after a failed commit the whole cache is thrown away with the store.
type heads[T any] struct {
	max     int
	byName  map[string]*head[T]
	touched []*head[T]
	idle    head[T] // root of the ring of those not touched; idle.next is the least recently used
}

func newHeads[T any](max int) *heads[T] {
	h := &heads[T]{max: max, byName: map[string]*head[T]{}}
	h.idle.prev, h.idle.next = &h.idle, &h.idle
	return h
}

// get returns the cached head of that name and touches it; nil when it must be loaded.
func (h *heads[T]) get(name []byte) *head[T] {
	e := h.byName[string(name)]
	if e != nil && !e.touched {
		e.prev.next, e.next.prev = e.next, e.prev
		h.touch(e)
	}
	return e
}

// add caches a loaded head and touches it.
func (h *heads[T]) add(name []byte, value T) *head[T] {
	id := string(name)
	e := &head[T]{name: id, partition: partitionOf(id), value: value}
	h.byName[id] = e
	h.touch(e)
	return e
}

func (h *heads[T]) touch(e *head[T]) {
	e.touched = true
	h.touched = append(h.touched, e)
}

// settle is called when the batch is in.
func (h *heads[T]) settle() {
	for i, e := range h.touched {
		e.touched, e.dirty = false, false
		e.prev, e.next = h.idle.prev, &h.idle
		e.prev.next, h.idle.prev = e, e
		h.touched[i] = nil
	}
	h.touched = h.touched[:0]
	for len(h.byName) > h.max {
		e := h.idle.next
		h.idle.next, e.next.prev = e.next, &h.idle
		delete(h.byName, e.name)
	}
}
