package route_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/routetest"
)

// crowd opens sessions of users that stay, and names some of them.
func crowd(m *member, prefix string, n int) (some []string) {
	for i := range n {
		user := fmt.Sprintf("%s %d", prefix, i)
		m.Open(user, "phone", uint64(i+1), 1, 0)
		if i%(n/5+1) == 0 {
			some = append(some, user)
		}
	}
	return some
}

// neverOffline checks for a while, in small steps, that nobody calls users offline who are not.
func (c *cluster) neverOffline(d time.Duration, users []string, by ...*member) {
	c.Helper()
	for step := d / 50; d > 0; d -= step {
		for _, m := range by {
			f := m.Find(context.Background(), users)
			if _, offline, _ := f.Route(users); len(offline) > 0 {
				c.Fatalf("%s, %v before the end, says %q are offline", m.self.Node, d, offline)
			}
		}
		pass(step)
	}
}

// whole checks that a table has every session of the nodes and nothing else, and that they know.
func (c *cluster) whole(sessions int, nodes ...*member) {
	c.Helper()
	if got := len(c.records()); got != sessions {
		c.Errorf("the table has %d records, want %d", got, sessions)
	}
	for _, m := range nodes {
		c.is(m, route.Healthy)
		c.says(m, "nobody: offline")
	}
}

func TestFaults(t *testing.T) {
	const sessions = 3000
	for _, tt := range []struct {
		name    string
		outage  time.Duration
		strike  func(*routetest.Faults)
		recover func(*routetest.Faults)
	}{
		{"dead", time.Minute, func(f *routetest.Faults) { f.Dead(true) }, func(f *routetest.Faults) { f.Dead(false) }},
		{"hanging", time.Minute, func(f *routetest.Faults) { f.Hang(400 * time.Millisecond) }, func(f *routetest.Faults) { f.Hang(0) }},
		{"read only", time.Minute, func(f *routetest.Faults) { f.ReadOnly(true) }, func(f *routetest.Faults) { f.ReadOnly(false) }},
		{"for a moment", 100 * time.Millisecond, func(f *routetest.Faults) { f.Dead(true) }, func(f *routetest.Faults) { f.Dead(false) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				a, b := c.start("a", 1), c.start("b", 2)
				stay := append(crowd(a, "a", sessions), crowd(b, "b", sessions)...)
				settle()
				c.whole(2*sessions, a, b)

				tt.strike(a.Faults)
				tt.strike(b.Faults)
				gone := a.Open("gone", "phone", 1, 1, 0)
				c.neverOffline(tt.outage/2, stay, a, b)
				a.Open("new", "phone", 1, 1, 0) // logs in meanwhile
				a.Close(gone)
				c.neverOffline(tt.outage/2, append(stay, "new"), a, b)
				tt.recover(a.Faults)
				tt.recover(b.Faults)
				c.neverOffline(lease, append(stay, "new"), a, b)

				c.whole(2*sessions+1, a, b)
				c.says(b, "new: online", "gone: offline")
				if a.Live() != sessions+1 || b.Live() != sessions {
					t.Errorf("%d and %d sessions live", a.Live(), b.Live())
				}
			})
		})
	}
}

// A session that has ended while the table was away must not stay in it.
func TestRemovalsAreRetried(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1)
		crowd(a, "a", 2000)
		settle()
		a.Dead(true)
		for conn := range uint64(1999) {
			a.Close(conn + 1)
		}
		pass(time.Minute)
		if _, records := a.Queued(); records != 1999 {
			t.Errorf("%d removals wait", records)
		}
		a.Dead(false)
		settle()
		c.has("a 1999/phone=a.1/2000")
		if n := a.Counters().Removed.Load(); n != 1999 {
			t.Errorf("counted %d", n)
		}
		if _, records := a.Queued(); records != 0 {
			t.Errorf("%d records wait", records)
		}
	})
}

// A call that failed in the middle of a batch must not swallow the rest of it; no pass makes up for it here.
func TestRestOfABatchIsKept(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1, func(o *route.Options) { o.ReconcileEvery = 1000 * time.Hour })
		gone := a.Open("gone", "phone", 1, 1, 0)
		settle()
		a.Dead(true)
		a.Open("new", "phone", 1, 1, 0)
		a.Close(gone)
		pass(time.Millisecond)
		c.is(a, route.Suspect)
		a.Dead(false)
		settle()
		c.has("new/phone=a.1/2")
	})
}

// One of a user's two sessions moves while the table is away, so that its node does not hear of it; then the table is
// emptied. What is registered anew must not displace the newer session, whichever node comes first.
func TestEmptied(t *testing.T) {
	const sessions = 15_000
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		stay := append(crowd(a, "a", sessions), crowd(b, "b", sessions)...)
		moved := a.Open("mover", "phone", 1, 1, 0)
		pass(time.Second)
		a.Dead(true)
		b.Dead(true)
		pass(5 * time.Second)
		here := b.Open("mover", "phone", 2, 1, 0)
		a.Dead(false)
		b.Dead(false)
		settle()
		c.whole(2*sessions+1, a, b)
		if a.Lost(moved) != route.Displaced || b.Lost(here) != 0 {
			t.Errorf("lost: the older %d, the newer %d", a.Lost(moved), b.Lost(here))
		}

		c.table.Flush()
		c.neverOffline(lease/2, append(stay, "mover"), a, b)
		c.neverOffline(lease/2, append(stay, "mover"), a, b)
		c.whole(2*sessions+1, a, b)
		if n := a.Counters().Repaired.Load(); n < sessions {
			t.Errorf("a has repaired %d", n)
		}
	})
}

// Who answers is alone in an emptied table, but has seen another before.
func TestEmptiedWhileANodeIsCutOff(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		a.Open("alice", "phone", 1, 1, 0)
		settle()
		a.Dead(true)
		c.table.Flush()
		c.neverOffline(patience-time.Second, []string{"alice"}, b)
		c.is(b, route.Healthy)
		c.says(b, "alice: unknown", "nobody: unknown")
		a.Dead(false)
		settle()
		c.says(b, "alice: online", "nobody: offline")
	})
}

// A Redis that was restarted from an old snapshot has the generations, and not the records. Only the line tells.
func TestAnotherTableBehindTheSameGenerations(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		conn := a.Open("alice", "phone", 1, 1, 0)
		settle()
		if removed, err := b.Remove(context.Background(), []route.Key{a.self.Key("alice", "phone", conn)}); err != nil || !removed[0] {
			t.Fatal(removed, err)
		}
		a.Reconnect()
		b.Reconnect()
		pass(lease / 15) // they notice when they next use the line
		c.neverOffline(lease, []string{"alice"}, a, b)
		c.says(b, "alice: online", "nobody: offline")
		if n := a.Counters().Repaired.Load(); n != 1 {
			t.Errorf("repaired %d", n)
		}
	})
}

// A session that the table has lost is found by the next pass at the latest, and until the end of it nothing is offline.
func TestMissingSessionIsFound(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1)
		conn := a.Open("alice", "phone", 1, 1, 0)
		settle()
		if _, err := a.Remove(context.Background(), []route.Key{a.self.Key("alice", "phone", conn)}); err != nil {
			t.Fatal(err)
		}
		c.says(a, "alice: offline") // nobody can know
		pass(2 * reconcile)
		c.says(a, "alice: online")
		if n := a.Counters().Doubts.Load(); n != 1 {
			t.Errorf("%d doubts", n)
		}
	})
}

func TestFullQueuesHeal(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1, func(o *route.Options) { o.Queue = 10 })
		settle()
		stay := crowd(a, "a", 1000)
		if n := a.Counters().LostRegistered.Load(); n == 0 {
			t.Error("nothing was lost")
		}
		synctest.Wait()
		c.neverOffline(lease, stay, a)
		c.whole(1000, a)

		for conn := range uint64(1000) {
			a.Close(conn + 1)
		}
		pass(time.Second)
		if lost, left := a.Counters().LostRemoved.Load(), len(c.records()); lost == 0 || left == 0 {
			t.Errorf("%d removals lost, %d records left", lost, left)
		}
		pass(4 * reconcile)
		c.whole(0, a)
		if n := a.Counters().Orphans.Load(); n == 0 {
			t.Error("no orphans were counted")
		}
	})
}

func TestATableThatIsGivenUpIsNotAsked(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		a.Open("alice", "phone", 1, 1, 0)
		settle()
		c.says(b, "alice: online", "carol: offline")
		b.Dead(true)
		pass(10 * time.Second)
		before := b.Read()
		if f := b.Find(context.Background(), []string{"alice", "carol"}); !errors.Is(f.Err, route.ErrDegraded) || len(f.Records) != 0 {
			t.Errorf("got %+v", f)
		}
		if b.Read() != before {
			t.Error("it was asked")
		}
		c.is(b, route.Degraded)
		c.says(b, "alice: unknown", "carol: unknown")
	})
}

// A node that has asked itself believes itself: what is left of a session that has ended there says nothing.
func TestElsewhere(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		a.Open("alice", "phone", 1, 1, 0)
		b.Open("bob", "phone", 1, 1, 0)
		settle()
		f := a.Elsewhere(context.Background(), []string{"alice", "bob"})
		if online, offline, unknown := f.Route([]string{"alice", "bob"}); fmt.Sprint(online, offline, unknown) != "[bob] [alice] []" {
			t.Errorf("got %q, %q, %q", online, offline, unknown)
		}
	})
}

// With the table away, a node must not gather what it cannot write.
func TestStormWithoutTable(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1)
		settle()
		a.Dead(true)
		pass(5 * time.Second)
		crowd(a, "a", 15_000)
		pass(time.Second)
		if events, records := a.Queued(); events != 0 || records != 0 {
			t.Errorf("%d events and %d records wait", events, records)
		}
		a.Dead(false)
		pass(2 * time.Second) // the probe comes after at most one second
		if n := len(c.records()); n == 0 || n == 15_000 {
			t.Logf("%d records right after the probe", n)
		}
		settle()
		c.whole(15_000, a)
	})
}

// A pass does not exceed its pace, whatever the table could bear.
func TestPace(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1, func(o *route.Options) { o.Pace = 1000 })
		crowd(a, "a", 10_000)
		settle()
		c.table.Flush()
		pass(3 * time.Second)
		if n := len(c.records()); n < 500 || n > 3500 {
			t.Errorf("%d records after 3 s at 1,000 per second", n)
		}
		settle()
		c.whole(10_000, a)
	})
}

func TestSuspectIsToldAndPassesOn(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		conn := a.Open("alice", "phone", 1, 1, 0)
		settle()
		a.Due(conn, true)
		pass(time.Second)
		f := b.Find(context.Background(), []string{"alice"})
		if got := f.States("alice", nil)["phone"]; got != route.DeviceSuspect {
			t.Errorf("got %v", got)
		}
		c.says(b, "alice: online")
		a.Due(conn, false)
		pass(time.Second)
		f = b.Find(context.Background(), []string{"alice"})
		if got := f.States("alice", nil)["phone"]; got != route.DeviceActive {
			t.Errorf("got %v", got)
		}
		if n, lag := a.Counters().Refreshed.Load(), a.Counters().RefreshLag(); n != 2 || lag > time.Second {
			t.Errorf("%d refreshed, %v late", n, lag)
		}
	})
}
