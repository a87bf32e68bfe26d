package server

import (
	"bytes"
	"fmt"
	"testing"

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
