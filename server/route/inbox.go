package route

import (
	"sync"
	"sync/atomic"
	"time"
)

// eventKind is what a Registrar is told.
type eventKind uint8

const (
	registered eventKind = iota // a session is live
	refreshed                   // a live session's record is to be rewritten
	removed                     // a session has ended
	walked                      // the host's answer to Walk
	asked                       // another node's question
	held                        // the host's answer to Holds
)

type event struct {
	kind     eventKind
	at       time.Time
	session  Session
	sessions []Session // walked
	cursor   uint64    // walked: what was asked
	next     uint64    // walked
	keys     []Key     // asked, held
	held     []bool    // held
}

// inbox is the bounded queue in front of the Registrar. Anyone may post, an event loop too.
type inbox struct {
	limit  int           // set at construction
	wake   chan struct{} // something has come
	urgent chan struct{} // and it is to be seen at once
	lost   [held + 1]atomic.Bool

	// Guarded by mu.
	mu     sync.Mutex
	events []event
	spare  []event
}

func newInbox(limit int) *inbox {
	return &inbox{limit: limit, wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}
}

// post queues an event, or marks its kind as lost when the queue is full. Answers of the host always fit: there is one
// at a time of each question.
func (in *inbox) post(e event) bool {
	in.mu.Lock()
	if len(in.events) >= in.limit && e.kind != walked && e.kind != held {
		in.mu.Unlock()
		in.lost[e.kind].Store(true)
		in.poke()
		return false
	}
	in.events = append(in.events, e)
	filling := len(in.events) >= in.limit/2
	in.mu.Unlock()
	if filling {
		in.poke()
	} else {
		signal(in.wake)
	}
	return true
}

// poke wakes the Registrar, whatever it waits for.
func (in *inbox) poke() { signal(in.urgent) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take empties the queue. What it returns is valid until the next call but one.
func (in *inbox) take() []event {
	in.mu.Lock()
	defer in.mu.Unlock()
	got := in.events
	clear(in.spare)
	in.events, in.spare = in.spare[:0], got
	return got
}

func (in *inbox) depth() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.events)
}
