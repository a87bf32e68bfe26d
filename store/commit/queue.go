package commit

import (
	"sync"

	"lifeline/store"
)

// manyWaiting commands wake the committer while it waits for the engine.
const manyWaiting = 16

// queue holds the commands that wait for the committer, bounded in number and bytes. A command counts until it is in a
// batch.
type queue struct {
	// Set at construction.
	maxCommands int
	maxBytes    int
	wake        chan struct{} // has an item when the committer, if it sleeps, must look
	many        chan struct{} // has an item when so many commands wait that it should look while a batch is committed

	// Guarded by mu.
	mu       sync.Mutex
	waiting  []any
	commands int
	bytes    int
	closed   bool
}

func newQueue(maxCommands, maxBytes int) *queue {
	return &queue{maxCommands: maxCommands, maxBytes: maxBytes, wake: make(chan struct{}, 1), many: make(chan struct{}, 1)}
}

// push is refused with Closed, with the refusal that it is told unless that is None, or with Busy when the queue is full;
// a command always fits into an empty one.
func (q *queue) push(command any, bytes int, refusal store.Refusal) store.Refusal {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return store.Closed
	case refusal != store.None:
		return refusal
	case q.commands >= q.maxCommands || q.bytes+bytes > q.maxBytes && q.commands > 0:
		return store.Busy
	}
	q.add(command, bytes)
	return store.None
}

// pushOwn takes the store's own work, of which there is never much, even when the queue is full.
func (q *queue) pushOwn(step any) store.Refusal {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return store.Closed
	}
	q.add(step, 0)
	return store.None
}

// add is called with mu held.
func (q *queue) add(command any, bytes int) {
	q.waiting = append(q.waiting, command)
	q.commands++
	q.bytes += bytes
	switch len(q.waiting) {
	case 1:
		q.poke()
	case manyWaiting:
		poke(q.many)
	}
}

// take swaps what waits for an empty slice.
func (q *queue) take(empty []any) []any {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.waiting
	q.waiting = empty[:0]
	return taken
}

// took says that so much is in a batch.
func (q *queue) took(commands, bytes int) {
	q.mu.Lock()
	q.commands -= commands
	q.bytes -= bytes
	q.mu.Unlock()
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.poke()
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

func (q *queue) depth() (commands, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.commands, q.bytes
}

// poke makes the committer look.
func (q *queue) poke() { poke(q.wake) }

func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
