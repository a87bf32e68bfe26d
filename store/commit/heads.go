package commit

// head is one cached head: a conversation's or an inbox's, as the newest batch leaves it.
type head[T any] struct {
	name      string
	partition uint8
	value     T

	touched uint64 // number of the last batch that used it
	changed uint64 // number of the last batch that writes it
	place   int    // of that write among the partition's operations

	prev, next *head[T] // in the order of use, while idle
	idle       bool     // every batch that used it is in
}

// heads caches heads by name; of the idle ones the least recently used go first. Owned by the committer.
//
// Invariant: a head that a batch may have changed stays until that batch is in. So batches that are not in yet are read
// through, and after a failed commit the cache is thrown away with the store.
type heads[T any] struct {
	max     int
	drop    func(*T) // called with what leaves the cache; nil = nothing to do
	byName  map[string]*head[T]
	touched [2][]*head[T] // by the batch that is built and by the one that is being committed
	ring    head[T]       // of the idle ones; ring.next is the least recently used
}

func newHeads[T any](max int, drop func(*T)) *heads[T] {
	h := &heads[T]{max: max, drop: drop, byName: map[string]*head[T]{}}
	h.ring.prev, h.ring.next = &h.ring, &h.ring
	return h
}

// get returns the cached head of that name for a batch; nil when it must be loaded.
func (h *heads[T]) get(name []byte, batch uint64) *head[T] {
	e := h.byName[string(name)]
	if e != nil {
		h.touch(e, batch)
	}
	return e
}

// add caches a loaded head for a batch.
func (h *heads[T]) add(name []byte, value T, batch uint64) *head[T] {
	id := string(name)
	e := &head[T]{name: id, partition: partitionOf(id), value: value}
	h.byName[id] = e
	h.touch(e, batch)
	return e
}

func (h *heads[T]) touch(e *head[T], batch uint64) {
	if e.touched == batch {
		return
	}
	if e.idle {
		e.prev.next, e.next.prev = e.next, e.prev
		e.idle = false
	}
	e.touched = batch
	h.touched[batch%2] = append(h.touched[batch%2], e)
}

// settle is called when a batch is in.
func (h *heads[T]) settle(batch uint64) {
	touched := h.touched[batch%2]
	for i, e := range touched {
		if e.touched == batch {
			e.idle = true
			e.prev, e.next = h.ring.prev, &h.ring
			e.prev.next, h.ring.prev = e, e
		}
		touched[i] = nil
	}
	h.touched[batch%2] = touched[:0]
	for len(h.byName) > h.max && h.ring.next != &h.ring {
		e := h.ring.next
		h.ring.next, e.next.prev = e.next, &h.ring
		delete(h.byName, e.name)
		if h.drop != nil {
			h.drop(&e.value)
		}
	}
}
