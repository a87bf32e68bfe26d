package route_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/routetest"
)

// late delivers a session's events after random times, in their order.
type late struct {
	most time.Duration

	mu    sync.Mutex
	rng   *rand.Rand
	queue map[uint64][]func()
}

func (l *late) deliver(conn uint64, event func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue[conn] = append(l.queue[conn], event)
	time.AfterFunc(time.Duration(l.rng.Int64N(int64(l.most))), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		next := l.queue[conn][0]
		l.queue[conn] = l.queue[conn][1:]
		next()
	})
}

// want lists the records the table has to have: those of the sessions that live.
func (c *cluster) want(users []string, nodes ...*member) (want []string) {
	for _, m := range nodes {
		for _, user := range users {
			if conn := m.Conn(user, "phone"); conn != 0 {
				want = append(want, fmt.Sprintf("%s/phone=%s.%d/%d", user, m.self.Node, m.self.Incarnation, conn))
			}
		}
	}
	return want
}

// 10,000 users close, reconnect and move between nodes, at random, while what their loops have to say arrives late and in
// any order. Nothing fails and no pass repairs anything, so what is in the table at the end is what the events have
// done: a removal of an old connection that removed a new one would be seen.
func TestLateEvents(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			bubble(t, func(c *cluster) {
				rng := rand.New(rand.NewPCG(3, uint64(nodes)))
				var all []*member
				for i := range nodes {
					m := c.prepare(route.Self{Node: string(rune('a' + i)), Incarnation: uint64(i + 1)},
						func(o *route.Options) { o.ReconcileEvery = 1000 * time.Hour })
					m.Deliver = (&late{most: time.Second, rng: rand.New(rand.NewPCG(4, uint64(i))), queue: make(map[uint64][]func())}).deliver
					c.run(m)
					all = append(all, m)
				}
				settle()
				users := make([]string, 10_000)
				for i := range users {
					users[i] = fmt.Sprintf("user %d", i)
				}
				for attempt := range uint64(4) {
					for _, user := range users {
						m := all[rng.IntN(nodes)]
						if conn := m.Conn(user, "phone"); conn != 0 && rng.IntN(3) == 0 {
							m.Close(conn)
						}
						if rng.IntN(4) > 0 {
							m.Open(user, "phone", 1, attempt, 0)
						}
					}
					pass(time.Duration(rng.IntN(300)) * time.Millisecond)
				}
				pass(10 * time.Second)
				c.has(c.want(users, all...)...)
				live, repaired := 0, uint64(0)
				for _, m := range all {
					live += m.Live()
					repaired += m.Counters().Repaired.Load()
				}
				if len(c.records()) != live || repaired != 0 || live < 5000 {
					t.Errorf("%d records of %d sessions, %d repaired", len(c.records()), live, repaired)
				}
			})
		})
	}
}

// loop is a node's only event loop: what it says arrives in its order, in bursts that wait for up to a while.
type loop struct {
	*routetest.Node
	most time.Duration

	mu    sync.Mutex
	rng   *rand.Rand
	queue []func()
}

func (l *loop) deliver(_ uint64, event func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue = append(l.queue, event); len(l.queue) > 1 {
		return
	}
	time.AfterFunc(time.Duration(l.rng.Int64N(int64(l.most))), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, event := range l.queue {
			event()
		}
		l.queue = nil
	})
}

func (l *loop) Walk(cursor uint64, most int, reply func([]route.Session, uint64)) {
	l.Node.Walk(cursor, most, func(sessions []route.Session, next uint64) {
		l.deliver(0, func() { reply(sessions, next) })
	})
}

func (l *loop) Holds(conns []uint64, reply func([]bool)) {
	l.Node.Holds(conns, func(held []bool) { l.deliver(0, func() { reply(held) }) })
}

// Sessions come, go and change while one pass over them follows the other. As nothing is lost, no pass finds anything to
// repair, no scan an orphan, and the table has what the events have done.
func TestPassesAmongEvents(t *testing.T) {
	for seed := range uint64(4) {
		bubble(t, func(c *cluster) {
			rng := rand.New(rand.NewPCG(seed, 5))
			l := &loop{most: 40 * time.Millisecond, rng: rand.New(rand.NewPCG(seed, 6))}
			a := c.prepare(route.Self{Node: "a", Incarnation: 1}, func(o *route.Options) {
				l.Node = o.Host.(*routetest.Node)
				o.Host, o.ReconcileEvery = l, 100*time.Millisecond
			})
			a.Deliver = l.deliver
			c.run(a)
			settle()
			doubts := a.Counters().Doubts.Load()
			users := make([]string, 300)
			for i := range users {
				users[i] = fmt.Sprintf("user %d", i)
			}
			for attempt := range uint64(2000) {
				user := users[rng.IntN(len(users))]
				conn := a.Conn(user, "phone")
				switch {
				case conn != 0 && rng.IntN(3) == 0:
					a.Due(conn, rng.IntN(2) == 0)
				case conn != 0 && rng.IntN(3) > 0:
					a.Close(conn)
				default:
					a.Open(user, "phone", 1, attempt, 0)
				}
				if rng.IntN(4) == 0 {
					pass(time.Duration(rng.IntN(20)) * time.Millisecond)
				}
			}
			passes := a.Counters().Reconciles.Load()
			pass(time.Second)
			c.exact(users, []*member{a})
			counters := a.Counters()
			found := []uint64{counters.Doubts.Load() - doubts, counters.Repaired.Load(), counters.Orphans.Load()}
			if !slices.Equal(found, []uint64{0, 0, 0}) || passes < 20 {
				t.Errorf("seed %d: doubts, repairs and orphans %d in %d passes", seed, found, passes)
			}
		})
	}
}

// TestRandomFaults lets three nodes live through faults of every kind at random. A session that stays connected is never
// called offline by anyone; and when all is well again, the table has exactly the sessions that live.
func TestRandomFaults(t *testing.T) {
	for seed := range uint64(3) {
		bubble(t, func(c *cluster) {
			rng := rand.New(rand.NewPCG(seed, 9))
			nodes := []*member{c.start("a", 1), c.start("b", 2), c.start("c", 3)}
			var stay []string
			for i, m := range nodes[:2] {
				stay = append(stay, crowd(m, string(rune('a'+i)), 200)...)
			}
			settle()
			users := make([]string, 200)
			for i := range users {
				users[i] = fmt.Sprintf("user %d", i)
			}
			attempt := uint64(0)
			churn := func() {
				for range 20 {
					user, m := users[rng.IntN(len(users))], nodes[rng.IntN(3)]
					conn := m.Conn(user, "phone")
					switch attempt++; rng.IntN(4) {
					case 0:
						if conn != 0 {
							m.Close(conn)
						}
					case 1:
						if conn != 0 {
							m.Due(conn, rng.IntN(2) == 0)
						}
					default:
						m.Open(user, "phone", rng.Uint64N(2), attempt, 0)
					}
				}
			}
			for range 60 {
				faulty := nodes[rng.IntN(3)]
				switch rng.IntN(7) {
				case 0:
					faulty.Dead(true)
				case 1:
					faulty.Hang(400 * time.Millisecond)
				case 2:
					faulty.ReadOnly(true)
				case 3:
					faulty.Lose(0.3)
				case 4:
					c.table.Flush()
				case 5:
					faulty.Reconnect()
				}
				for range rng.IntN(10) {
					churn()
					c.neverOffline(time.Duration(rng.IntN(4000))*time.Millisecond, stay, nodes...)
				}
				faulty.Dead(false)
				faulty.Hang(0)
				faulty.ReadOnly(false)
				faulty.Lose(0)
				churn()
				c.neverOffline(time.Duration(1+rng.IntN(8))*time.Second, stay, nodes...)
			}
			pass(3 * reconcile)
			if t.Failed() {
				return
			}
			c.exact(append(users, stay...), nodes)
		})
	}
}

// exact checks that at rest the table has what lives, and that everybody knows.
func (c *cluster) exact(users []string, nodes []*member) {
	c.Helper()
	live := 0
	for _, m := range nodes {
		c.is(m, route.Healthy)
		live += m.Live()
	}
	got := c.records()
	for _, want := range c.want(users, nodes...) {
		if !slices.Contains(got, want) {
			c.Errorf("the table lacks %s", want)
		}
	}
	if len(got) != live {
		c.Errorf("%d records of %d sessions", len(got), live)
	}
	suspects := make(map[route.Key]bool)
	for _, m := range nodes {
		m.Walk(0, live, func(sessions []route.Session, _ uint64) {
			for _, s := range sessions {
				suspects[m.self.Key(s.User, s.Device, s.ConnID)] = s.Suspect
			}
		})
	}
	for _, m := range nodes {
		f := m.Find(context.Background(), users)
		online, _, unknown := f.Route(users)
		if len(unknown) != 0 {
			c.Errorf("%s does not know %d users", m.self.Node, len(unknown))
		}
		for _, user := range users {
			has := slices.ContainsFunc(nodes, func(m *member) bool { return m.Conn(user, "phone") != 0 })
			if slices.Contains(online, user) != has {
				c.Errorf("%s is wrong about %s, who has a session: %v", m.self.Node, user, has)
			}
		}
		for _, rec := range f.Records {
			if want, lives := suspects[rec.Key()]; lives && rec.Suspect != want {
				c.Errorf("%s calls %s suspect: %v", m.self.Node, rec.User, rec.Suspect)
			}
		}
	}
}
