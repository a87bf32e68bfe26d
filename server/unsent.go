package server

import (
	"time"

	"lifeline/server/liveness"
	"lifeline/server/session"
)

// stuckFor is how long outbound bytes may wait in user space while the socket takes none.
const stuckFor = 30 * time.Second

// unsent is what waits in user space for a socket that did not take it, and since when the socket has taken none. A loop
// keeps it for the connections that have such bytes, which at any moment are few.
type unsent struct {
	bytes int
	since liveness.Time
}

// noteUnsent looks how many bytes wait for a connection, to which so many have been added since the last look, and returns
// the number. If the socket has taken some, fewer wait than were there and were added. It is called at every write, and by
// the sweep, which comes every second as long as any wait.
func (sh *Shard) noteUnsent(s *session.Session, added int) int {
	n := sh.conns.of(s).OutboundBuffered()
	was, known := sh.unsent[s.ID]
	switch {
	case n == 0 && !known:
		return 0
	case n == 0:
		delete(sh.unsent, s.ID)
	case !known || n < was.bytes+added:
		sh.unsent[s.ID] = unsent{n, sh.clock.Now()}
	default:
		sh.unsent[s.ID] = unsent{n, was.since}
	}
	sh.core.outboundBytes.Add(int64(n - was.bytes))
	return n
}

// forgetUnsent is for a connection whose socket is gone.
func (sh *Shard) forgetUnsent(s *session.Session) {
	if was, known := sh.unsent[s.ID]; known {
		delete(sh.unsent, s.ID)
		sh.core.outboundBytes.Add(-int64(was.bytes))
	}
}

// isStuck reports whether bytes have waited in user space for stuckFor and the socket has taken none; in background for the
// hold of a silent session, for phones sleep. How many wait says nothing: for a slow reader that reads, the pump fills up
// what it has taken.
func (sh *Shard) isStuck(s *session.Session, now liveness.Time) bool {
	if sh.noteUnsent(s, 0) == 0 {
		return false
	}
	most := stuckFor
	if background(s) {
		most = max(most, sh.core.opts.Heartbeat.Hold.For(true, seconds(s.Interval)))
	}
	return now.Sub(sh.unsent[s.ID].since) > most
}

// outbound is the number of bytes that wait for the connection in user space. When those of all connections together are
// above the node's budget, any that its socket did not take are more than it may have: what is pushed next would wait
// behind them. A connection whose socket takes what comes is not held up by others.
func (sh *Shard) outbound(s *session.Session) int {
	n := sh.conns.of(s).OutboundBuffered()
	if n > 0 && sh.core.outboundBytes.Load() > sh.core.opts.MaxOutboundBytes {
		n = max(n, session.OutboundHigh+1)
	}
	if s.Stage != 0 {
		n += len(sh.stages[s.Stage-1].buf)
	}
	return n
}
