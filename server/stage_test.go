package server

import (
	"bytes"
	"fmt"
	"testing"

	"lifeline/protocol"
	"lifeline/server/session"
	"lifeline/store"
)

// watchedConn tells what is staged on its loop whenever bytes are written to it.
type watchedConn struct {
	nullConn
	write func()
}

// Write implements Conn.
func (c *watchedConn) Write(p []byte) (int, error) {
	c.write()
	return c.nullConn.Write(p)
}

// TestABurstStagesABoundedNumberOfBytes: a large message to a large group is staged once for each member.
func TestABurstStagesABoundedNumberOfBytes(t *testing.T) {
	const members, payload = 500, 30 << 10
	r := newRig(t)
	most, written := 0, 0
	var to []store.Recipient
	for i := range members {
		user := fmt.Sprint("member-", i)
		c := r.login(t, user, "phone")
		r.sh.conns.set(c.s, &watchedConn{nullConn: nullConn{s: c.s}, write: func() {
			staged := 0
			for i := range r.sh.stages {
				staged += len(r.sh.stages[i].buf)
			}
			most = max(most, staged)
			written++
		}})
		to = append(to, store.Recipient{User: user, Pos: 1})
	}
	message := &store.Message{Conversation: "team", Seq: 1, Sender: "alice", Payload: bytes.Repeat([]byte{'p'}, payload)}
	r.core.fanout.Committed([]store.Event{{Kind: store.KindMessage, Message: message, To: to}})
	r.sh.Run()
	if written != members {
		t.Fatalf("%d members got the message, want %d", written, members)
	}
	if most > 5<<20 {
		t.Errorf("%d bytes were staged at once, want at most 4 MiB and one frame", most)
	}
}

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
