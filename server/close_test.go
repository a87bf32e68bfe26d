package server

import (
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
	"lifeline/server/session"
	"lifeline/store"
)

// TestLastSeenIsTheLastWord: a device that fell silent was last seen when it last spoke, not when the node gave it up.
func TestLastSeenIsTheLastWord(t *testing.T) {
	var last store.Ack
	r := newRig(t, func(o *CoreOptions) {
		open := o.Open
		o.Open = func(sink store.Sink) (store.Store, error) {
			below, err := open(sink)
			return acks{below, &last}, err
		}
	})
	c := r.login(t, "bob", "phone")
	r.sh.clock.Tick(0)
	for wall := time.Duration(0); wall < 5*time.Minute; wall += liveness.TickInterval {
		r.sh.clock.Tick(wall)
	}
	heard := time.Now().Add(-r.sh.clock.Now().Sub(c.s.LastIn))
	r.sh.refuseConn(c.s, protocol.CodeSilent)
	if off := time.UnixMilli(last.Seen).Sub(heard).Abs(); !last.Leaving || off > time.Minute {
		t.Errorf("%+v: last seen is %v off", last, off)
	}
}

// TestOnlySoManyCloseWithAWord: a thousand connections of a loop may take their time to read why they are closed. Those
// above it are gone at once, and when one of the thousand has gone the next is told again.
func TestOnlySoManyCloseWithAWord(t *testing.T) {
	const most = 1000
	r := newRig(t)
	refused := func() *nullConn {
		c := &nullConn{}
		c.s = r.sh.Open(c)
		r.sh.Traffic(c.s, []byte{0}) // no frame has a length of 0
		return c
	}
	told := func(c *nullConn) bool { return c.written > 0 && c.s.State == session.Closing }
	var first *nullConn
	for i := range most {
		c := refused()
		if !told(c) {
			t.Fatalf("connection %d was closed without a word", i)
		}
		if first == nil {
			first = c
		}
	}
	if c := refused(); c.written != 0 || c.s.State != session.Free {
		t.Errorf("one more is %v and was written %d bytes", c.s.State, c.written)
	}
	if got := r.gauge(`lifeline_queue_depth{queue="closing"}`); got != most {
		t.Errorf("%v are closing, want %d", got, most)
	}
	r.sh.Closed(first.s, nil)
	if c := refused(); !told(c) {
		t.Errorf("in the place of one that has gone, another is %v and was written %d bytes", c.s.State, c.written)
	}
	if got := r.core.meter.closes[protocol.CodeMalformed].Get(); got != most+2 {
		t.Errorf("%d closes are counted, want %d", got, most+2)
	}
}

// acks keeps the last Ack.
type acks struct {
	store.Store
	last *store.Ack
}

// Ack implements store.Store.
func (a acks) Ack(ack store.Ack) { *a.last = ack }
