package commit

import (
	"sync"
	"time"

	"lifeline/store"
)

// flushAfter is how long an Ack waits for others of its device. The rest of the half second that store.Store promises
// is for the batch it is then in.
const flushAfter = 250 * time.Millisecond

// maxFlush is how many cursors go into one batch, so that many devices delay nobody's send for long.
const maxFlush = 1000

// device is one device of a user.
type device struct{ user, device string }

// progress is what a device's Acks said since its cursor was stored.
type progress struct {
	cursor
	hasPos bool
	left   bool // seen is set
}

func (p progress) join(a store.Ack) progress {
	if a.HasPos {
		p.pos, p.platform, p.hasPos = max(p.pos, a.Pos), a.Platform, true
	}
	if a.Leaving {
		p.seen, p.left = a.Seen, true
	}
	return p
}

// cursors collects Acks, the newest of each device, until the committer takes them into a batch. It holds no more than
// the devices that were heard of since the last flush.
type cursors struct {
	poke func() // wakes the committer; set at construction

	// Guarded by mu.
	mu        sync.Mutex
	dirty     map[device]progress
	due       map[device]progress // were dirty long enough
	committed map[device]progress // in the batch being committed
	leaving   []device            // dirty ones whose session ended
	forgets   map[device]int      // Forget commands that wait: nothing of the device is flushed before them
	timer     *time.Timer         // runs while something is dirty
	closed    bool
}

func newCursors(poke func()) *cursors {
	return &cursors{
		poke: poke, dirty: map[device]progress{}, due: map[device]progress{},
		committed: map[device]progress{}, forgets: map[device]int{},
	}
}

// ack joins an Ack to what is known of its device. From any goroutine.
func (c *cursors) ack(a store.Ack) {
	if !store.ValidID(a.User) || !store.ValidID(a.Device) {
		return
	}
	key := device{a.User, a.Device}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if len(c.dirty) == 0 {
		c.start()
	}
	c.dirty[key] = c.dirty[key].join(a)
	if a.Leaving {
		c.leaving = append(c.leaving, key)
		c.poke()
	}
}

func (c *cursors) start() {
	if c.timer == nil {
		c.timer = time.AfterFunc(flushAfter, c.expire)
		return
	}
	c.timer.Reset(flushAfter)
}

// expire makes everything dirty due.
func (c *cursors) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.due) == 0 {
		c.dirty, c.due = c.due, c.dirty
	} else {
		for key, p := range c.dirty {
			c.due[key] = merge(c.due[key], p)
			delete(c.dirty, key)
		}
	}
	c.poke()
}

// merge joins a device's later progress to its earlier.
func merge(earlier, later progress) progress {
	if later.hasPos {
		earlier.pos, earlier.platform, earlier.hasPos = max(earlier.pos, later.pos), later.platform, true
	}
	if later.left {
		earlier.seen, earlier.left = later.seen, true
	}
	return earlier
}

// close makes everything due and later Acks ignored.
func (c *cursors) close() {
	c.expire()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

// pending reports whether take would return something. While a Forget holds something back the committer has work anyway.
func (c *cursors) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.leaving) > 0 || len(c.due) > 0
}

// take moves into the batch what is due, and the devices that left: at most maxFlush of them. The map is the
// committer's to read until done.
func (c *cursors) take() map[device]progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.leaving), maxFlush)
	for _, key := range c.leaving[:n] {
		c.move(key, c.due)
		c.move(key, c.dirty)
	}
	c.leaving = c.leaving[:copy(c.leaving, c.leaving[n:])]
	for key := range c.due {
		if len(c.committed) >= maxFlush {
			break
		}
		c.move(key, c.due)
	}
	return c.committed
}

// move takes what a map has of a device into the batch, unless a Forget must come first.
func (c *cursors) move(key device, from map[device]progress) {
	p, ok := from[key]
	if !ok || c.forgets[key] > 0 {
		return
	}
	delete(from, key)
	c.committed[key] = merge(c.committed[key], p)
}

// done is called when the batch is durable.
func (c *cursors) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.committed)
}

// forget drops what is known of a device if push queues the Forget, and holds back what comes later until forgotten.
func (c *cursors) forget(key device, push func() store.Refusal) store.Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := push()
	if r == store.None {
		delete(c.dirty, key)
		delete(c.due, key)
		c.forgets[key]++
	}
	return r
}

// forgotten is called when a Forget is durable.
func (c *cursors) forgotten(key device) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgets[key]--; c.forgets[key] == 0 {
		delete(c.forgets, key)
	}
}

// latest is what Acks said of a device that may not be stored yet; forgetting says that what is stored does not count.
func (c *cursors) latest(key device) (p progress, forgetting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgets[key] > 0 {
		return merge(c.due[key], c.dirty[key]), true
	}
	return merge(merge(c.committed[key], c.due[key]), c.dirty[key]), false
}

// size is the number of devices with something to store.
func (c *cursors) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.dirty) + len(c.due) + len(c.committed)
}
