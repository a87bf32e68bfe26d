package server

import (
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
	"lifeline/server/session"
)

// fullConn holds what is written to it.
type fullConn struct {
	nullConn
	waiting int
}

// Write implements Conn.
func (c *fullConn) Write(p []byte) (int, error) {
	c.waiting += len(p)
	return c.nullConn.Write(p)
}

// OutboundBuffered implements Conn.
func (c *fullConn) OutboundBuffered() int { return c.waiting }

// full replaces the connection of a session by one whose socket takes nothing.
func (r *rig) full(c *nullConn, waiting int) *fullConn {
	full := &fullConn{nullConn: nullConn{s: c.s}, waiting: waiting}
	r.sh.conns.set(c.s, full)
	r.sh.Bind(closer{r, func(conn Conn) {
		switch conn := conn.(type) {
		case *fullConn:
			r.sh.Closed(conn.s, nil)
		case *nullConn:
			r.sh.Closed(conn.s, nil)
		}
	}})
	return full
}

// TestAnswersThatAreNotReadEndTheConnection: Pongs are written whatever waits, up to half a megabyte and no byte more.
func TestAnswersThatAreNotReadEndTheConnection(t *testing.T) {
	const most = 512 << 10
	ping := (&protocol.Ping{}).Append(nil)
	pong := len((&protocol.Pong{}).Append(nil))
	for _, tt := range []struct {
		waiting int
		written int
		state   session.State
	}{{most - pong, pong, session.Active}, {most - pong + 1, 0, session.Free}} {
		r := newRig(t)
		c := r.full(r.login(t, "bob", "phone"), tt.waiting)
		s := c.s
		r.sh.Traffic(s, ping)
		if c.written != tt.written || s.State != tt.state {
			t.Errorf("with %d bytes waiting: %d were written and the connection is %v, want %d and %v", tt.waiting, c.written, s.State, tt.written, tt.state)
		}
	}
}

// TestUnsentBytesAreCounted as long as they wait and their connection is there: the sum is the gauge, and nothing is kept of
// a connection that has none.
func TestUnsentBytesAreCounted(t *testing.T) {
	r := newRig(t)
	ping := (&protocol.Ping{}).Append(nil)
	pong := len((&protocol.Pong{}).Append(nil))
	a, b := r.full(r.login(t, "alice", "phone"), 0), r.full(r.login(t, "bob", "phone"), 0)
	want := func(when string, connections, bytes int) {
		t.Helper()
		if got := r.gauge("lifeline_outbound_bytes"); int(got) != bytes || len(r.sh.unsent) != connections {
			t.Errorf("%s: %v bytes of %d connections, want %d of %d", when, got, len(r.sh.unsent), bytes, connections)
		}
	}
	pass := func() {
		for _, c := range []*fullConn{a, b} {
			r.sh.soon(c.s, 0)
		}
		for was := r.sh.sweep.pass; r.sh.sweep.pass == was; {
			r.sh.tick()
		}
	}
	want("at first", 0, 0)
	for range 3 {
		r.sh.Traffic(a.s, ping)
	}
	r.sh.Traffic(b.s, ping)
	want("after four Pongs", 2, 4*pong)
	a.waiting -= pong
	pass()
	want("one was taken", 2, 3*pong)
	a.waiting = 0
	r.sh.Traffic(a.s, ping)
	want("all were taken, and another came", 2, 2*pong)
	a.waiting = 0
	pass()
	want("all were taken", 1, pong)
	r.sh.refuseConn(b.s, protocol.CodeDraining)
	r.sh.flush()
	want("the Close waits, too", 1, b.waiting)
	r.sh.Closed(b.s, nil)
	want("the connection is gone", 0, 0)
}

// TestASocketThatTakesSomeIsNotStuck, also when as much is written at once as it has taken, so that as much waits as before.
func TestASocketThatTakesSomeIsNotStuck(t *testing.T) {
	r := newRig(t)
	ping := (&protocol.Ping{}).Append(nil)
	pong := len((&protocol.Pong{}).Append(nil))
	c := r.full(r.login(t, "bob", "phone"), 0)
	wall := time.Duration(0)
	for _, tt := range []struct {
		takes int
		since time.Duration // how long it has taken none, after another second
	}{{0, 0}, {0, time.Second}, {0, 2 * time.Second}, {pong, 0}, {0, time.Second}, {1, 0}} {
		for range time.Second / liveness.TickInterval {
			wall += liveness.TickInterval
			r.sh.clock.Tick(wall)
		}
		c.waiting -= tt.takes
		r.sh.Traffic(c.s, ping)
		if got := r.sh.clock.Now().Sub(r.sh.unsent[c.s.ID].since); got != tt.since {
			t.Errorf("after %v the socket has taken none for %v, want %v", wall, got, tt.since)
		}
	}
}
