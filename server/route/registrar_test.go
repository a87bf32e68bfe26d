package route_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/routetest"
)

// The phone is the freshest, and still all three are to be pushed to.
func TestAllDevicesOfAnOnlineUser(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		a.Open("alice", "desktop", 1, 1, 2*time.Minute)
		b.Open("alice", "web", 2, 1, time.Minute)
		settle()
		phone := a.Open("alice", "phone", 3, 1, 0)
		pass(time.Second)
		for _, m := range []*member{a, b} {
			f := m.Find(context.Background(), []string{"alice", "bob"})
			if states := f.States("alice", []string{"tv"}); fmt.Sprint(states) != "map[desktop:active phone:active tv:none web:active]" {
				t.Errorf("%s sees %v", m.self.Node, states)
			}
			c.says(m, "alice: online", "bob: offline")
		}
		a.Close(phone)
		pass(time.Second)
		c.says(b, "alice: online")
		c.has("alice/desktop=a.1/1", "alice/web=b.2/1")
	})
}

func TestNothingIsOfflineBeforeItIsProven(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1)
		c.says(a, "alice: unknown")
		a.Open("bob", "phone", 1, 1, 0)
		pass(time.Millisecond)
		c.says(a, "alice: unknown", "bob: online")
		settle()
		c.says(a, "alice: offline", "bob: online")
		c.is(a, route.Healthy)

		b := c.start("b", 2)
		pass(lease / 15)
		c.says(a, "alice: unknown", "bob: online")
		c.says(b, "alice: unknown", "bob: online")
		settle()
		c.says(a, "alice: offline", "bob: online")
		c.says(b, "alice: offline", "bob: online")
		counters := b.Counters()
		if h, m, u := counters.Hits.Load(), counters.Misses.Load(), counters.Unknowns.Load(); h != 2 || m != 1 || u != 1 {
			t.Errorf("counted %d hits, %d misses, %d unknown", h, m, u)
		}
	})
}

func TestDisplacementAcrossNodes(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		settle()
		first := a.Open("alice", "phone", 7, 1, 0)
		pass(time.Second)
		second := b.Open("alice", "phone", 7, 2, 0) // the same process, moving
		pass(time.Second)
		if v := a.Lost(first); v != route.Superseded {
			t.Errorf("the older socket of a process has lost by %d", v)
		}
		third := a.Open("alice", "phone", 8, 1, 0) // another process
		pass(time.Second)
		if v := b.Lost(second); v != route.Displaced {
			t.Errorf("the displaced process has lost by %d", v)
		}
		late := b.Open("alice", "phone", 7, 3, time.Minute) // the first one's Connect took long
		pass(time.Second)
		if v := b.Lost(late); v != route.Displaced {
			t.Errorf("a process that came late has lost by %d", v)
		}
		c.has(fmt.Sprintf("alice/phone=a.1/%d", third))
		if a.Live() != 1 || b.Live() != 0 {
			t.Errorf("%d and %d sessions live", a.Live(), b.Live())
		}
		if n := a.Counters().Displaced.Load() + b.Counters().Displaced.Load(); n != 3 {
			t.Errorf("counted %d displaced", n)
		}
	})
}

// Nobody listens when the word comes; a refresh, or reconcile, finds out.
func TestLostNoticeIsRepaired(t *testing.T) {
	for _, refreshed := range []bool{true, false} {
		bubble(t, func(c *cluster) {
			a := c.prepare(route.Self{Node: "a", Incarnation: 1})
			deaf := &deafTable{a.Faults}
			a = c.prepare(route.Self{Node: "a", Incarnation: 1}, func(o *route.Options) { o.Table = deaf })
			c.run(a)
			b := c.start("b", 2)
			first := a.Open("alice", "phone", 1, 1, 0)
			settle()
			second := b.Open("alice", "phone", 2, 1, 0)
			pass(time.Second)
			if a.Lost(first) != 0 {
				t.Error("the word was heard")
			}
			if refreshed {
				a.Due(first, false)
				pass(time.Second)
			} else {
				pass(2 * reconcile)
			}
			if v := a.Lost(first); v != route.Displaced {
				t.Errorf("refreshed %v: the loser has lost by %d", refreshed, v)
			}
			c.has(fmt.Sprintf("alice/phone=b.2/%d", second))
		})
	}
}

// deafTable never hears a notice.
type deafTable struct{ route.Table }

func (deafTable) Notices(ctx context.Context, ready func(), _ func(route.Notice)) error {
	ready()
	<-ctx.Done()
	return ctx.Err()
}

// cutTable is a table whose line for notices can be cut.
type cutTable struct {
	route.Table
	cut chan struct{}
}

func (t cutTable) Notices(ctx context.Context, ready func(), f func(route.Notice)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-t.cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	return t.Table.Notices(ctx, ready, f)
}

// lateTable is a table whose line for notices is made when open is closed.
type lateTable struct {
	route.Table
	open chan struct{}
}

func (t lateTable) Notices(ctx context.Context, ready func(), f func(route.Notice)) error {
	select {
	case <-t.open:
		return t.Table.Notices(ctx, ready, f)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// What was said before the line for notices was made first is looked for, too.
func TestLateLineOfNotices(t *testing.T) {
	bubble(t, func(c *cluster) {
		open := make(chan struct{})
		a := c.start("a", 1, func(o *route.Options) { o.Table = lateTable{o.Table, open} })
		b := c.start("b", 2)
		first := a.Open("alice", "phone", 1, 1, 0)
		settle()
		b.Open("alice", "phone", 2, 1, 0)
		pass(time.Second)
		if a.Lost(first) != 0 {
			t.Error("the word was heard before anybody listened")
		}
		close(open)
		pass(5 * time.Second)
		if v := a.Lost(first); v != route.Displaced {
			t.Errorf("the loser has lost by %d", v)
		}
	})
}

// What was said while the line for notices was broken is looked for when it is made again.
func TestBrokenLineOfNotices(t *testing.T) {
	bubble(t, func(c *cluster) {
		cut := make(chan struct{})
		a := c.start("a", 1, func(o *route.Options) { o.Table = cutTable{o.Table, cut} })
		b := c.start("b", 2)
		first := a.Open("alice", "phone", 1, 1, 0)
		settle()
		cut <- struct{}{}
		pass(time.Millisecond)
		b.Open("alice", "phone", 2, 1, 0)
		pass(time.Millisecond)
		if a.Lost(first) != 0 {
			t.Error("the word was heard on a broken line")
		}
		pass(5 * time.Second)
		if v := a.Lost(first); v != route.Displaced {
			t.Errorf("the loser has lost by %d", v)
		}
		c.is(a, route.Healthy)
	})
}

// A node that started a moment ago, and one that started anew, are known when their first users are looked up.
func TestNewNodeIsKnownAtOnce(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1)
		settle()
		b := c.start("b", 2)
		b.Open("bob", "phone", 1, 1, 0)
		synctest.Wait()
		c.says(a, "bob: online")
		c.kill(b)
		b = c.start("b", 3)
		b.Open("bob", "phone", 1, 2, 0)
		synctest.Wait()
		c.says(a, "bob: online")
	})
}

func TestKilledNode(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		a.Open("alice", "phone", 1, 1, 0)
		b.Open("bob", "phone", 2, 1, 0)
		settle()
		c.kill(a)
		c.says(b, "alice: online", "bob: online", "carol: offline")
		pass(lease)
		c.says(b, "alice: unknown", "bob: online", "carol: unknown")
		pass(patience - lease/3 - time.Second)
		c.says(b, "alice: unknown", "bob: online", "carol: unknown")
		pass(lease/3 + 2*time.Second)
		c.says(b, "alice: offline", "bob: online", "carol: offline")
		c.has("bob/phone=b.2/1") // b scans, as the only one that lives
		if n := b.Counters().Orphans.Load(); n != 1 {
			t.Errorf("%d orphans", n)
		}
	})
}

// The lock of the data directory proves that the older process is dead.
func TestKilledNodeComesBack(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		a.Open("alice", "phone", 1, 1, 0)
		a.Open("dora", "phone", 1, 1, 0)
		settle()
		c.kill(a)
		a = c.start("a", 3)
		conn := a.Open("alice", "phone", 1, 2, 0)
		pass(lease / 15)
		c.says(b, "alice: online", "dora: unknown", "carol: unknown")
		settle()
		c.says(b, "alice: online", "dora: offline", "carol: offline")
		pass(2 * reconcile)
		c.has(fmt.Sprintf("alice/phone=a.3/%d", conn))
	})
}

func TestGoodbye(t *testing.T) {
	bubble(t, func(c *cluster) {
		a, b := c.start("a", 1), c.start("b", 2)
		a.Open("alice", "phone", 1, 1, 0)
		settle()
		a.stop()
		if err := <-a.ended; err != nil {
			t.Error(err)
		}
		a.ended <- nil
		pass(lease / 15)
		c.says(b, "alice: offline", "carol: offline")
	})
}

func TestNodeTakenAtTheStart(t *testing.T) {
	bubble(t, func(c *cluster) {
		c.start("a", 1)
		other := c.prepare(route.Self{Node: "a", Incarnation: 2, Directory: "a copy"})
		c.run(other)
		if err := <-other.ended; !errors.Is(err, route.ErrNodeTaken) {
			t.Errorf("got %v", err)
		}
		other.ended <- nil
	})
}

func TestDrainingIsAnnounced(t *testing.T) {
	bubble(t, func(c *cluster) {
		a := c.start("a", 1, func(o *route.Options) { o.Addresses, o.Budget = []string{"h:1"}, 10 })
		settle()
		a.Announce(route.NodeDraining, 3)
		pass(time.Millisecond)
		l, err := a.Leases(context.Background())
		if err != nil || len(l.Live) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		if got := l.Live[0]; got.State != route.NodeDraining || got.Budget != 3 || got.Addresses[0] != "h:1" || !got.Generations.Whole() {
			t.Errorf("the lease says %+v", got)
		}
		if age := a.LeaseAge(); age > time.Second {
			t.Errorf("the lease is %v old", age)
		}
	})
}

func TestForeignStore(t *testing.T) {
	bubble(t, func(c *cluster) {
		var log bytes.Buffer
		a := c.start("a", 1, func(o *route.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		same := c.start("b", 2)
		settle()
		if a.Foreign() || same.Foreign() {
			t.Error("nodes of one store are strangers")
		}
		other := c.start("c", 3, func(o *route.Options) { o.Epoch = "two" })
		pass(2 * lease / 15)
		if !a.Foreign() || !other.Foreign() {
			t.Error("nodes of two stores are not")
		}
		a.Dead(true)
		pass(patience / 2)
		if !a.Foreign() {
			t.Error("a node that cannot read the leases has forgotten at once")
		}
		pass(patience)
		if a.Foreign() {
			t.Error("it never forgets")
		}
		a.Dead(false)
		pass(10 * time.Second)
		if !a.Foreign() {
			t.Error("it does not see again")
		}
		other.stop()
		pass(lease)
		if a.Foreign() {
			t.Error("a node that is gone is still a stranger")
		}
		for _, line := range []string{"another node has a store of its own", "node=c", "no other node has a store of its own"} {
			if n := strings.Count(log.String(), line); n != 1 {
				t.Errorf("%q was said %d times", line, n)
			}
		}
	})
}

// A node that starts knows of other nodes' stores before it serves; and a table that does not answer holds up nothing.
func TestForeignStoreAtTheStart(t *testing.T) {
	bubble(t, func(c *cluster) {
		c.start("a", 1)
		b := c.prepare(route.Self{Node: "b", Incarnation: 2}, func(o *route.Options) { o.Epoch = "two" })
		select {
		case <-b.Asked():
			t.Error("the table was asked before the start")
		default:
		}
		c.run(b)
		if <-b.Asked(); !b.Foreign() {
			t.Error("the node may serve, and does not know of the other store")
		}
		for _, strike := range []func(*routetest.Faults){
			func(f *routetest.Faults) { f.Dead(true) },
			func(f *routetest.Faults) { f.Hang(400 * time.Millisecond) },
			func(f *routetest.Faults) { f.ReadOnly(true) },
		} {
			m := c.prepare(route.Self{Node: "c", Incarnation: 3})
			strike(m.Faults)
			began := time.Now()
			c.run(m)
			if <-m.Asked(); time.Since(began) > 2*time.Second {
				t.Errorf("the start was held up for %v", time.Since(began))
			}
			if m.Foreign() {
				t.Error("a node that could not read the leases calls others foreign")
			}
		}
	})
}

// advisor is a table that is set up badly, or does not tell, for ever or the first time.
type advisor struct {
	route.Table
	advice string
	err    error
	slow   bool
}

func (a *advisor) Advice(context.Context) (string, error) {
	if a.slow {
		a.slow = false
		return "", context.DeadlineExceeded
	}
	return a.advice, a.err
}

// What an operator should change is said once, whatever happens later; a table that does not tell is used as it is.
func TestAdviceIsGivenOnce(t *testing.T) {
	for _, tt := range []struct {
		a    *advisor
		want string
	}{
		{&advisor{advice: "turn it round"}, "level=WARN msg=\"the online table may lose routes\" do=\"turn it round\""},
		{&advisor{advice: "turn it round", slow: true}, "do=\"turn it round\""},
		{&advisor{err: errors.New("not allowed")}, "level=INFO msg=\"the online table does not tell how it is set up\" err=\"not allowed\""},
	} {
		bubble(t, func(c *cluster) {
			var log bytes.Buffer
			a := c.start("a", 1, func(o *route.Options) {
				tt.a.Table = o.Table
				o.Table, o.Log = tt.a, slog.New(slog.NewTextHandler(&log, nil))
			})
			settle()
			c.is(a, route.Healthy)
			a.Reconnect()
			settle()
			c.is(a, route.Healthy)
			a.stop()
			<-a.ended
			a.ended <- nil
			if n := strings.Count(log.String(), tt.want); n != 1 {
				t.Errorf("it was said %d times: %s\n%s", n, tt.want, &log)
			}
		})
	}
}

// Nodes that displace by different rules say so, each once.
func TestRulesAreCompared(t *testing.T) {
	bubble(t, func(c *cluster) {
		var logs [3]bytes.Buffer
		for i, platform := range []bool{false, true, false} {
			m := c.prepare(route.Self{Node: string(rune('a' + i)), Incarnation: uint64(i + 1), ExclusivePlatform: platform},
				func(o *route.Options) { o.Log = slog.New(slog.NewTextHandler(&logs[i], nil)) })
			c.run(m)
		}
		pass(2 * lease)
		for _, m := range c.nodes {
			m.stop()
			<-m.ended
			m.ended <- nil
		}
		for i, other := range []string{"b", "a", "b"} {
			warning := "level=WARN msg=\"another node displaces by another rule\" node=" + other + " "
			if n := strings.Count(logs[i].String(), warning); n != 1 || strings.Count(logs[i].String(), "another rule") != 1 {
				t.Errorf("node %d has said %d times %s: %s", i, n, warning, &logs[i])
			}
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := route.NewRegistrar(route.Options{}); err == nil {
		t.Error("a registrar was made of nothing")
	}
}
