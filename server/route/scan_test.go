package route_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"lifeline/server/route"
)

// leave puts a record into the table that nobody stands behind.
func (c *cluster) leave(node string, incarnation, conn uint64, user string, ttl time.Duration) {
	c.Helper()
	t := c.table.Table(route.Self{Node: node, Incarnation: incarnation, TTL: ttl}, nil)
	s := route.Session{User: user, Device: "phone", ConnID: conn, Started: time.Now(), Seen: time.Now()}
	if _, err := t.Register(context.Background(), []route.Session{s}); err != nil {
		c.Fatal(err)
	}
}

func TestScanRemovesOrphans(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		kept := a.Open("alice", "phone", 1, 1, 0)
		also := b.Open("bob", "phone", 1, 1, 0)
		short := b.Open("short", "phone", 1, 1, 0)
		gone := c.start("gone", 3)
		settle()
		c.leave("a", 1, 999, "of this node", ttl)
		c.leave("b", 2, 999, "of the other node", ttl)
		c.leave("a", 77, 1, "of an earlier process", ttl)
		c.leave("gone", 3, 5, "of a node that says goodbye", ttl)
		c.leave("never", 9, 5, "of a stranger", ttl)
		c.leave("b", 2, 998, "expired", time.Millisecond)
		for i := range 2000 { // more than one step of a scan
			c.leave("b", 2, uint64(1000+i), fmt.Sprintf("many %d", i), ttl)
		}
		gone.stop()
		<-gone.ended
		gone.ended <- nil
		b.Close(short)
		pass(4 * reconcile) // the stranger is met by one scan and removed by another
		c.has(fmt.Sprintf("alice/phone=a.1/%d", kept), fmt.Sprintf("bob/phone=b.2/%d", also))
		orphans := a.Counters().Orphans.Load() + b.Counters().Orphans.Load()
		if expired := a.Counters().Expired.Load(); orphans != 2005 || expired != 1 {
			t.Errorf("%d orphans, %d expired", orphans, expired)
		}
		if n, m := a.Counters().Scans.Load(), b.Counters().Scans.Load(); n == 0 || m != 0 {
			t.Errorf("a scanned %d times, b %d", n, m)
		}
		if a.Live() != 1 || b.Live() != 1 {
			t.Error("a session that lives was touched")
		}
	})
}

// A record of a node that is cut off is left alone until that node is taken for dead.
func TestScanSparesTheDoubtful(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1, func(o *route.Options) { o.ReconcileEvery = 2 * time.Second })
		b := c.start("b", 2)
		b.Open("bob", "phone", 1, 1, 0)
		settle()
		b.Dead(true)
		pass(patience)
		c.has("bob/phone=b.2/1")
		if a.Counters().Scans.Load() < 10 {
			t.Errorf("only %d scans", a.Counters().Scans.Load())
		}
		pass(lease + time.Second)
		c.has()
		b.Dead(false)
		settle()
		c.has("bob/phone=b.2/1")
		c.says(a, "bob: online", "nobody: offline")
	})
}

// The refresh of a record was lost: reconcile makes up for it before the record expires.
func TestLostRefreshIsRepaired(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1)
		conn := a.Open("alice", "phone", 1, 1, 0)
		settle()
		for range 12 {
			a.Heard(conn)
			c.neverOffline(10*time.Minute, []string{"alice"}, a)
		}
		if n := a.Counters().Refreshed.Load(); n == 0 || n > 12 {
			t.Errorf("%d refreshed in two hours", n)
		}
		if n := a.Counters().Repaired.Load(); n != 0 {
			t.Errorf("the record was gone %d times", n)
		}
	})
}

func TestNextScannerTakesOver(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		settle()
		pass(3 * reconcile)
		if b.Counters().Scans.Load() != 0 {
			t.Error("two scan")
		}
		c.kill(a)
		pass(3 * reconcile)
		if b.Counters().Scans.Load() == 0 {
			t.Error("nobody scans")
		}
	})
}
