package loadtest

import (
	"math"

	"lifeline/protocol"
)

// traffic is what the pairs of one loop share: when they send, and what they have measured. Owned by the loop.
type traffic struct {
	// Set at construction.
	loop    *loop
	window  int     // unanswered Sends of a pair
	gap     float64 // mean time between two messages of a pair, ns; 0: a message goes when an answer comes
	pairs   []*pair
	payload []byte // its filling; its head is that of the message at hand

	from, until int64 // what is measured; with until the sending ends
	refused     bool  // some pair may have messages to send again
	send        protocol.Send
	figures     figures
}

// figures is what a loop's traffic has counted. Those of the measured span count what came in it; the latencies are those
// of the messages that were due in it.
type figures struct {
	sent, stored, pushed     uint64 // in the whole run
	storedInSpan             uint64
	pushedInSpan             uint64
	sendack, push, pushLater histogram
}

func (f *figures) merge(other *figures) {
	f.sent += other.sent
	f.stored += other.stored
	f.pushed += other.pushed
	f.storedInSpan += other.storedInSpan
	f.pushedInSpan += other.pushedInSpan
	f.sendack.merge(&other.sendack)
	f.push.merge(&other.push)
	f.pushLater.merge(&other.pushLater)
}

// start lets the pairs send until a time, and measures from a time.
func (t *traffic) start(from, until int64) {
	t.from, t.until = from, until
	t.loop.begin()
	for _, p := range t.pairs {
		p.due = t.after(t.loop.now)
	}
	t.write()
}

// work sends what time asks for: what is due at a rate, and what was refused before.
func (t *traffic) work() {
	if t.gap > 0 || t.refused {
		t.write()
	}
}

func (t *traffic) write() {
	t.refused = false
	for _, p := range t.pairs {
		t.loop.out = t.loop.out[:0]
		p.write(t.loop)
		t.loop.flush(p.sender)
		t.refused = t.refused || p.out.refused > 0
	}
}

// next is when the next message of a pair is due; ok is false when it is not yet, or never again.
func (t *traffic) next(p *pair) (stamp int64, ok bool) {
	now := t.loop.now
	if t.gap == 0 {
		return now, now < t.until
	}
	if p.due > now || p.due >= t.until {
		return 0, false
	}
	stamp = p.due
	p.due = t.after(stamp)
	return stamp, true
}

// after draws when a pair sends again: the times between are exponential, as those of people who know nothing of each
// other.
func (t *traffic) after(now int64) int64 {
	return now - int64(t.gap*math.Log(1-t.loop.random()))
}

func (t *traffic) spans(at int64) bool { return t.from <= at && at < t.until }

// stored notes the answer to a message that was due at stamp.
func (t *traffic) stored(now, stamp int64) {
	t.figures.stored++
	if t.spans(now) {
		t.figures.storedInSpan++
	}
	if t.spans(stamp) {
		t.figures.sendack.record(now - stamp)
	}
}

// pushed notes that a device of the receiver has a message; last tells that no device lacks it now.
func (t *traffic) pushed(now, stamp int64, last bool) {
	t.figures.pushed++
	if t.spans(now) {
		t.figures.pushedInSpan++
	}
	if !t.spans(stamp) {
		return
	}
	t.figures.push.record(now - stamp)
	if last {
		t.figures.pushLater.record(now - stamp)
	}
}

// rest is what the pairs have not finished.
func (t *traffic) rest() (r rest) {
	for _, p := range t.pairs {
		r.add(p.rest())
	}
	return r
}

// faults is what the verifiers have found, with what is lost now.
func (t *traffic) faults() (f Faults) {
	for _, p := range t.pairs {
		for i := range p.devices {
			f.add(&p.streams[i].faults)
		}
	}
	f.Lost += t.rest().unpushed
	return f
}
