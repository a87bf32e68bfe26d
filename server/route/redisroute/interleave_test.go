package redisroute

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/redistest"
	"lifeline/server/route/routetest"
)

// shuffler holds events back and delivers them in any order that keeps each session's own.
type shuffler struct {
	mu    sync.Mutex
	rng   *rand.Rand
	conns []uint64 // one for each event
	queue map[uint64][]func()
}

func newShuffler(seed uint64) *shuffler {
	return &shuffler{rng: rand.New(rand.NewPCG(seed, 1)), queue: make(map[uint64][]func())}
}

func (s *shuffler) deliver(conn uint64, event func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
	s.queue[conn] = append(s.queue[conn], event)
}

// release delivers a part of what is held.
func (s *shuffler) release(part float64) {
	s.mu.Lock()
	s.rng.Shuffle(len(s.conns), func(i, j int) { s.conns[i], s.conns[j] = s.conns[j], s.conns[i] })
	n := int(part * float64(len(s.conns)))
	var events []func()
	for _, conn := range s.conns[:n] {
		events = append(events, s.queue[conn][0])
		s.queue[conn] = s.queue[conn][1:]
	}
	s.conns = slices.Clone(s.conns[n:])
	s.mu.Unlock()
	for _, event := range events {
		event()
	}
}

// 10,000 users close, reconnect and move, on one node and between two that share a server; registrations and removals
// come late and in any order. No pass repairs anything. In the end the table has exactly the sessions that live.
func TestInterleavings(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			server := redistest.Start(t)
			o := Options{Addrs: []string{server.Addr()}, Timeout: unhurried}
			rng := rand.New(rand.NewPCG(uint64(nodes), 2))
			var all []*member
			var held []*shuffler
			for i := range nodes {
				listening := make(chan struct{})
				m := start(t, o, string(rune('a'+i)), uint64(i+1), func(o *route.Options) {
					o.Table = &attentive{Table: o.Table, listening: listening}
					o.Lease, o.ReconcileEvery, o.Queue = time.Minute, 1000*time.Hour, 1<<20
					o.Settle = -1
				})
				m.until(route.Healthy)
				<-listening
				all, held = append(all, m), append(held, newShuffler(uint64(i)))
				m.Deliver = held[i].deliver
			}
			users := make([]string, 10_000)
			for i := range users {
				users[i] = fmt.Sprint("user ", i)
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
				for _, h := range held {
					h.release(0.7)
				}
			}
			routetest.Eventually(t, "the table has exactly the sessions that live", func() bool {
				for _, h := range held {
					h.release(1)
				}
				return settled(t, o, users, all)
			})
			for _, m := range all {
				if n := m.Counters().Repaired.Load(); n != 0 {
					t.Errorf("%s has repaired %d", m.self.Node, n)
				}
			}
		})
	}
}

// attentive is a table whose line for notices is made before anything is said, and says so to the test alone: for the
// Registrar it would be a reason to look for what was said before, and to repair it.
type attentive struct {
	route.Table
	listening chan struct{}
	once      sync.Once
}

func (a *attentive) Notices(ctx context.Context, _ func(), f func(route.Notice)) error {
	return a.Table.Notices(ctx, func() { a.once.Do(func() { close(a.listening) }) }, f)
}

// settled reports whether no event waits and the table has what lives.
func settled(t *testing.T, o Options, users []string, nodes []*member) bool {
	want := make(map[route.Key]bool)
	for _, m := range nodes {
		if events, records := m.Queued(); events+records > 0 {
			return false
		}
		for _, user := range users {
			if conn := m.Conn(user, "phone"); conn != 0 {
				want[m.self.Key(user, "phone", conn)] = true
			}
		}
	}
	got := records(t, o)
	for _, key := range got {
		if !want[key] {
			return false
		}
	}
	return len(got) == len(want) && len(want) > 5000
}
