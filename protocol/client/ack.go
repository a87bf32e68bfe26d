package client

import "time"

// acks decides when the position is acknowledged: cumulatively, a little late, and never beyond what the app has
// persisted or what this connection was sent [P-6.9]. It is a value with no clock of its own, and lives as long as a
// connection.
type acks struct {
	delay time.Duration
	every uint64

	urgent    bool   // ack at once, even the position that it began with
	acked     uint64 // last sent
	persisted uint64
	received  uint64    // last Pos that came on this connection
	since     time.Time // when the oldest unacknowledged entry was persisted
}

// ready is the position that may be acknowledged.
func (a *acks) ready() uint64 { return min(a.persisted, a.received) }

// stored notes that the app has persisted everything up to pos.
func (a *acks) stored(now time.Time, pos uint64) {
	before := a.ready()
	a.persisted = max(a.persisted, pos)
	a.mark(now, before)
}

// came notes the last position that this connection has brought.
func (a *acks) came(now time.Time, pos uint64) {
	before := a.ready()
	a.received = max(a.received, pos)
	a.mark(now, before)
}

func (a *acks) mark(now time.Time, before uint64) {
	if a.ready() > before && before <= a.acked {
		a.since = now
	}
}

// release ends a reset: the list is stored up to pos, which is acknowledged at once, 0 included. Until then nothing is
// persisted and so nothing acknowledged [P-6.7].
func (a *acks) release(pos uint64) {
	a.urgent = true
	a.acked, a.persisted = pos, pos
	a.received = max(a.received, pos)
}

// due is when take has something to give; zero: not yet known.
func (a *acks) due() time.Time {
	if a.ready() <= a.acked {
		return time.Time{}
	}
	return a.since.Add(a.delay)
}

// take returns the position to acknowledge now. last says that no later chance comes.
func (a *acks) take(now time.Time, last bool) (pos uint64, ok bool) {
	pos = a.ready()
	switch {
	case a.urgent:
	case pos <= a.acked:
		return 0, false
	case !last && pos-a.acked < a.every && now.Before(a.since.Add(a.delay)):
		return 0, false
	}
	a.urgent, a.acked = false, pos
	return pos, true
}
