package server

import (
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
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

// acks keeps the last Ack.
type acks struct {
	store.Store
	last *store.Ack
}

// Ack implements store.Store.
func (a acks) Ack(ack store.Ack) { *a.last = ack }
