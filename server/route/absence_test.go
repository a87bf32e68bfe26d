package route_test

import (
	"context"
	"testing"
	"time"

	"lifeline/server/route"
)

// The table was away for longer than it takes to forget a node, and one of two is back before the other: it has not seen the
// other for long, and could not.
func TestTheSecondToComeBackIsAwaited(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		bob := []string{"bob"}
		b.Open("bob", "phone", 1, 1, 0)
		settle()
		a.Dead(true)
		b.Dead(true)
		c.neverOffline(3*patience, bob, a)
		c.table.Flush()
		a.Dead(false)
		c.neverOffline(patience-lease-time.Second, bob, a)
		b.Dead(false)
		settle()
		c.says(a, "bob: online", "nobody: offline")
	})
}

// A node that stood still has not seen the others for long, and they were there.
func TestAfterAStandstillNobodyIsOffline(t *testing.T) {
	bubble(t, func(c *cluster) {
		stand, goOn := make(chan struct{}), make(chan struct{})
		a := c.start("a", 1, func(o *route.Options) { o.Table = &standing{Table: o.Table, stand: stand, goOn: goOn} })
		b := c.start("b", 2)
		b.Open("bob", "phone", 1, 1, 0)
		settle()
		c.says(a, "bob: online", "nobody: offline")
		stand <- struct{}{}
		pass(2 * patience)
		c.says(a, "bob: unknown", "nobody: unknown")
		close(goOn)
		settle()
		c.says(a, "bob: online", "nobody: offline")
	})
}

// standing is a table on which the registrar, in its next call, stands still.
type standing struct {
	route.Table
	stand, goOn chan struct{}
}

func (s *standing) Leases(ctx context.Context) (route.Leases, error) {
	select {
	case <-s.stand:
		<-s.goOn
	default:
	}
	return s.Table.Leases(ctx)
}

// The table fails just when a dead node's time is over: what it has left is removed all the same, and not a period later.
func TestTheDeadAreBuriedThoughTheTableStumbles(t *testing.T) {
	for from := time.Duration(0); from < 6*time.Second; from += 100 * time.Millisecond {
		bubble(t, func(c *cluster) {
			a, b := c.start("a", 1), c.start("b", 2)
			a.Open("alice", "phone", 1, 1, 0)
			settle()
			c.kill(a)
			pass(patience + lease - 6*time.Second + from)
			b.Dead(true)
			pass(time.Second)
			b.Dead(false)
			pass(2 * lease)
			c.says(b, "alice: offline")
			c.has()
		})
	}
}

// stumbling is a table on which the first scans fail.
type stumbling struct {
	route.Table
	failures int
}

func (s *stumbling) Scan(ctx context.Context, at string) (route.Scanned, error) {
	if s.failures--; s.failures >= 0 {
		return route.Scanned{}, context.DeadlineExceeded
	}
	return s.Table.Scan(ctx, at)
}

// A scan that is broken off is made again soon; a table that never lets one through is not troubled all the time.
func TestABrokenScanIsMadeAgain(t *testing.T) {
	for _, tt := range []struct {
		failures int
		orphan   bool
	}{{1, false}, {1 << 20, true}} {
		bubble(t, func(c *cluster) {
			s := &stumbling{failures: tt.failures}
			b := c.start("b", 2, func(o *route.Options) { s.Table, o.Table = o.Table, s })
			a := c.start("a", 1)
			a.Open("alice", "phone", 1, 1, 0)
			settle()
			c.kill(a)
			pass(patience + lease + time.Second)
			c.says(b, "alice: unknown")
			pass(patience + lease)
			if got := len(c.records()); (got == 1) != tt.orphan {
				t.Errorf("%d failures: %d records are left", tt.failures, got)
			}
			if tried := tt.failures - s.failures; tried > 3 {
				t.Errorf("%d scans were tried", tried)
			}
		})
	}
}
