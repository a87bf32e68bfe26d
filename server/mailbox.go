package server

import (
	"sync"

	"lifeline/server/delivery"
)

// defaultLane bounds the deliveries waiting for one loop. What comes above it is kept as each user's newest position.
const defaultLane = 16384

// mailbox brings work from other goroutines to one loop, in two lanes. Answers are never refused: each was paid for by a
// bounded outstanding request. Deliveries are bounded and degrade into the overflow map, which is bounded by the users
// present; a position in it makes the loop read the store, so nothing is lost.
type mailbox struct {
	capacity int // of items. Set at construction.

	wake func() bool // set before the first post that must be heard. Guarded by mu.

	mu       sync.Mutex
	answers  []answer          // Guarded by mu.
	items    []delivery.Item   // Guarded by mu.
	overflow map[string]uint64 // user -> newest Pos. Guarded by mu.
	ticks    int               // Guarded by mu.
	awake    bool              // a wake is on its way. Guarded by mu.

	spareAnswers []answer        // Owned by the loop.
	spareItems   []delivery.Item // Owned by the loop.
}

// post puts one answer in. Any goroutine.
func (m *mailbox) post(a answer) {
	m.mu.Lock()
	m.answers = append(m.answers, a)
	m.unlockAndWake()
}

// deliver puts items in, or their positions when the lane is full. Any goroutine.
func (m *mailbox) deliver(items []delivery.Item) (overflowed int) {
	m.mu.Lock()
	for i := range items {
		it := &items[i]
		if len(m.items) < m.capacity {
			m.items = append(m.items, *it)
			continue
		}
		overflowed++
		if m.overflow == nil {
			m.overflow = make(map[string]uint64)
		}
		m.overflow[it.User] = max(m.overflow[it.User], it.Pos)
	}
	m.unlockAndWake()
	return overflowed
}

// tick asks for one step of the sweep. Any goroutine.
func (m *mailbox) tick() {
	m.mu.Lock()
	m.ticks++
	m.unlockAndWake()
}

func (m *mailbox) unlockAndWake() {
	wake := m.wake
	if m.awake {
		wake = nil
	}
	m.awake = m.awake || wake != nil
	m.mu.Unlock()
	if wake != nil && !wake() {
		m.mu.Lock()
		m.awake = false // the next post, at latest the next tick, tries again
		m.mu.Unlock()
	}
}

// bind sets how the loop is woken, and wakes it for what is waiting. wake says whether it could.
func (m *mailbox) bind(wake func() bool) {
	m.mu.Lock()
	m.wake = wake
	m.unlockAndWake()
}

// bound reports whether there is a loop that can be woken.
func (m *mailbox) bound() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wake != nil
}

// mail is what one burst brought.
type mail struct {
	answers  []answer
	items    []delivery.Item
	overflow map[string]uint64
	ticked   bool
}

// take empties the mailbox. On the loop; recycle gives the slices back.
func (m *mailbox) take() mail {
	m.mu.Lock()
	defer m.mu.Unlock()
	got := mail{m.answers, m.items, m.overflow, m.ticks > 0}
	m.answers, m.items, m.overflow, m.ticks, m.awake = m.spareAnswers, m.spareItems, nil, 0, false
	m.spareAnswers, m.spareItems = nil, nil
	return got
}

// spareMost bounds what an idle mailbox keeps after a burst, in entries of each lane.
const spareMost = 4096

func (m *mailbox) recycle(got mail) {
	if cap(got.answers) <= spareMost {
		clear(got.answers)
		m.spareAnswers = got.answers[:0]
	}
	if cap(got.items) <= spareMost {
		clear(got.items)
		m.spareItems = got.items[:0]
	}
}

// depth returns the entries waiting in each lane and the users in overflow, for gauges. Any goroutine.
func (m *mailbox) depth() (answers, items, overflow int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.answers), len(m.items), len(m.overflow)
}
