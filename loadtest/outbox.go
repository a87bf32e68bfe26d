package loadtest

import "lifeline/protocol"

// maxWindow is the most unanswered Sends that a writer may have.
const maxWindow = 64

// sendState says what is known of a message that was sent.
type sendState uint8

const (
	sendOpen    sendState = iota // not answered
	sendStored                   // acknowledged
	sendRefused                  // refused for now: it goes again
	sendFailed                   // refused for good
)

// attempt is one message on its way.
type attempt struct {
	id    uint64 // of the request
	stamp int64  // when the message was due, run clock
	state sendState
}

// outbox is a writer's memory of its numbered messages: at most maxWindow that are not stored, in order. A refusal stops
// new ones until everything is answered and the refused have gone again, for the server refuses what comes behind a
// refused one. It is a value without a clock; make it with newOutbox.
type outbox struct {
	next    uint64 // the number of the next new message
	base    uint64 // every number up to it is stored
	slots   [maxWindow]attempt
	lastID  uint64 // of requests
	open    int    // attempts in sendOpen
	refused int    // attempts in sendRefused
	failed  int    // attempts in sendFailed
	after   int64  // the refused go again no earlier
}

func newOutbox() outbox { return outbox{next: 1} }

// room tells whether a new message may be sent.
func (o *outbox) room(window int) bool {
	return o.refused == 0 && o.failed == 0 && o.next-o.base <= uint64(window)
}

// give makes a new message of what was due at stamp. Only when there is room.
func (o *outbox) give(stamp int64) (number, id uint64) {
	number = o.next
	o.next++
	o.lastID++
	o.open++
	o.slots[number%maxWindow] = attempt{id: o.lastID, stamp: stamp}
	return number, o.lastID
}

// answer takes a request's answer; u, a random part of 1, spreads the retries. ok is false when no such request is open.
func (o *outbox) answer(now int64, u float64, id uint64, status *protocol.Status) (stamp int64, ok bool) {
	for number := o.base + 1; number < o.next; number++ {
		a := &o.slots[number%maxWindow]
		if a.id != id || a.state != sendOpen {
			continue
		}
		o.open--
		o.settle(now, u, a, status)
		return a.stamp, true
	}
	return 0, false
}

func (o *outbox) settle(now int64, u float64, a *attempt, status *protocol.Status) {
	switch {
	case !status.Failed():
		a.state = sendStored
		for o.base+1 < o.next && o.slots[(o.base+1)%maxWindow].state == sendStored {
			o.base++
		}
	case again(status.Retry):
		a.state = sendRefused
		o.refused++
		wait := float64(status.RetryMinMs) + u*float64(status.RetryWindowMs)
		o.after = max(o.after, now+int64(wait*millisecond))
	default:
		a.state = sendFailed
		o.failed++
	}
}

// again tells whether a refused message may be sent again as it is.
func again(class protocol.RetryClass) bool {
	return class == protocol.RetryNow || class == protocol.RetryAfter || class == protocol.RetryUnspecified
}

// retry opens the first refused message again when it is time. It is false when there is none, or not yet.
func (o *outbox) retry(now int64) (number, id uint64, stamp int64, ok bool) {
	if o.refused == 0 || now < o.after {
		return 0, 0, 0, false
	}
	for number := o.base + 1; number < o.next; number++ {
		a := &o.slots[number%maxWindow]
		if a.state != sendRefused {
			continue
		}
		o.lastID++
		o.refused--
		o.open++
		a.id, a.state = o.lastID, sendOpen
		return number, a.id, a.stamp, true
	}
	return 0, 0, 0, false
}

// stored tells whether a message is known to be stored.
func (o *outbox) stored(number uint64) bool {
	return number <= o.base || number < o.next && o.slots[number%maxWindow].state == sendStored
}
