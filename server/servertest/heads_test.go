package servertest

import (
	"sync/atomic"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/store"
)

// countedReads counts the reads of inboxes.
type countedReads struct {
	store.Store
	reads atomic.Int64
}

func (c *countedReads) Inbox(r store.InboxRead) (store.InboxPage, error) {
	c.reads.Add(1)
	return c.Store.Inbox(r)
}

// TestAQuietSessionReadsItsHeadOnceInAnInterval: a lost hint is found without the client's help, and a client that pings all
// the time costs the store no more for it.
func TestAQuietSessionReadsItsHeadOnceInAnInterval(t *testing.T) {
	script(t, func(t *testing.T) {
		c := &countedReads{}
		n := Start(t, 1, WrapStore(func(open func(store.Sink) (store.Store, error)) func(store.Sink) (store.Store, error) {
			return func(sink store.Sink) (store.Store, error) {
				below, err := open(sink)
				c.Store = below
				return c, err
			}
		}))
		bob, ack := n.Login(0, Login{User: "bob", Device: "phone"})
		interval := time.Duration(ack.Heartbeat.IntervalS) * time.Second
		before := c.reads.Load()
		const intervals = 10
		for passed := time.Duration(0); passed < intervals*interval; passed += 2 * time.Second {
			Idle(2 * time.Second)
			bob.Send(&protocol.Ping{})
			Expect[*protocol.Pong](bob)
		}
		if got := c.reads.Load() - before; got < intervals-1 || got > intervals {
			t.Errorf("%d reads in %d intervals of %v", got, intervals, interval)
		}
	})
}
