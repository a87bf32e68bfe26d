package route

import "time"

// op is what is to be done to the table for one connection.
type op uint8

const (
	opNone op = iota
	opRefresh
	opRegister
	opRemove
)

// join returns what is left to do of an op that waits and one that comes after it. A removal is the last word on a
// connection. A registration that was never tried and its removal cancel out.
func (o op) join(later op, tried bool) op {
	switch {
	case o == opRemove:
		return opRemove
	case later == opRemove && o == opRegister && !tried:
		return opNone
	default:
		return max(o, later)
	}
}

// work is one op and the newest state of its connection.
type work struct {
	op      op
	tried   bool // it may have been applied
	repair  bool // found by reconcile
	at      time.Time
	session Session
}

// pending holds the work that waits, one for each connection, in order of arrival. Owned by the Registrar's goroutine.
type pending struct {
	limit int
	conns map[uint64]*work
	order []uint64 // connections; those without work were cancelled
	begin uint64   // place of order[0] since the start
}

func newPending(limit int) pending { return pending{limit: limit, conns: make(map[uint64]*work)} }

// add joins w to what waits for its connection. It returns false when there is no room.
func (p *pending) add(w work) bool {
	id := w.session.ConnID
	old := p.conns[id]
	if old == nil {
		if len(p.conns) >= p.limit {
			return false
		}
		p.put(&w)
		return true
	}
	if old.op = old.op.join(w.op, old.tried); old.op == opNone {
		delete(p.conns, id)
		return true
	}
	old.session = w.session
	old.repair = old.repair || w.repair
	return true
}

// put queues work for a connection that has none, room or not: what was taken may come back.
func (p *pending) put(w *work) {
	p.conns[w.session.ConnID] = w
	p.order = append(p.order, w.session.ConnID)
}

// take returns the oldest n.
func (p *pending) take(n int) []*work {
	var taken []*work
	used := 0
	for ; used < len(p.order) && len(taken) < n; used++ {
		if w := p.conns[p.order[used]]; w != nil {
			taken = append(taken, w)
			delete(p.conns, p.order[used])
		}
	}
	p.begin += uint64(used)
	p.order = p.order[used:]
	return taken
}

// keepRemovals drops everything else.
func (p *pending) keepRemovals() {
	for id, w := range p.conns {
		if w.op != opRemove {
			delete(p.conns, id)
		}
	}
}

// has reports whether something waits for the connection.
func (p *pending) has(conn uint64) bool { return p.conns[conn] != nil }

// late reports whether a registration has waited since before a moment.
func (p *pending) late(before time.Time) bool {
	for _, id := range p.order {
		switch w := p.conns[id]; {
		case w == nil:
		case !w.at.Before(before):
			return false
		case w.op == opRegister:
			return true
		}
	}
	return false
}

// end is the place after the last.
func (p *pending) end() uint64 { return p.begin + uint64(len(p.order)) }
