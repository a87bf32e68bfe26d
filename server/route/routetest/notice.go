package routetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"lifeline/server/route"
)

var noticeTests = []test{
	{"a displaced node is told, and only that", testNotices},
	{"owners are asked", testAsk},
	{"listening ends with its context", testNoticesEnd},
}

// ear collects what a table is told.
type ear struct {
	mu      sync.Mutex
	notices []string
	asked   []route.Key
}

// listen returns once the table listens.
func (r *rig) listen(t route.Table) *ear {
	r.Helper()
	e := new(ear)
	ctx, cancel := context.WithCancel(r.ctx)
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = t.Notices(ctx, func() { close(ready) }, func(n route.Notice) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if len(n.Asked) > 0 {
				e.asked = append(e.asked, n.Asked...)
				return
			}
			e.notices = append(e.notices, fmt.Sprintf("%d %d", n.ConnID, n.Verdict))
		})
	}()
	r.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case <-ready:
	case <-ended:
		r.Fatal("listening has ended")
	}
	return e
}

func (e *ear) heard() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.notices)
}

func testNotices(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	old := r.node(route.Self{Node: "a", Incarnation: 9})
	b := r.node(route.Self{Node: "b", Incarnation: 2})
	atA, atOld, atB := r.listen(a), r.listen(old), r.listen(b)
	newer := func(t route.Table, conn, instance, attempt uint64) {
		s := r.session("alice", "phone", conn, 0)
		s.Instance, s.Attempt, s.Started = instance, attempt, s.Started.Add(ttl/2) // later than anything before
		want(r, fmt.Sprintf("connection %d", conn), r.register(t, s), route.TookOver)
	}
	r.register(a, r.session("alice", "phone", 1, 0))
	newer(a, 2, 1<<63, 2) // the same node: it knows
	newer(b, 1<<63, 1<<63, 3)
	s := r.session("alice", "phone", 1, 0)
	want(r, "the loser again", r.register(a, s), route.RefusedSuperseded) // nobody lost a place
	s.Instance, s.Started = 7, s.Started.Add(ttl)
	want(r, "another process", r.register(a, s), route.TookOver)
	r.register(b, r.session("end", "x", 5, 0))
	s = r.session("end", "x", 6, 0)
	s.Attempt = 99
	r.register(a, s)

	Eventually(r, "the last notices come", func() bool { return len(atB.heard()) >= 2 && len(atA.heard()) >= 1 })
	want(r, "at a", atA.heard(), "2 1")
	want(r, "at another incarnation of a", atOld.heard())
	want(r, "at b", atB.heard(), fmt.Sprintf("%d 2", uint64(1)<<63), "5 1")
}

func testAsk(r *rig) {
	a, b := r.node(route.Self{Node: "a", Incarnation: 1}), r.node(route.Self{Node: "b", Incarnation: 2})
	e := r.listen(b)
	var batch []route.Key
	for i := range uint64(route.MaxBatch) {
		batch = append(batch, route.Key{User: fmt.Sprintf("user |%d\x00", i), Device: "漢", ConnID: i << 40, Node: "b", Incarnation: 2})
	}
	if err := a.Ask(r.ctx, []route.Key{{User: "x", Device: "y", ConnID: 1, Node: "b", Incarnation: 1}}); err != nil {
		r.Fatalf("ask another incarnation: %v", err)
	}
	if err := a.Ask(r.ctx, batch); err != nil {
		r.Fatalf("ask: %v", err)
	}
	Eventually(r, "the question comes", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.asked) >= len(batch)
	})
	want(r, "asked", e.asked, batch...)
}

func testNoticesEnd(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	ctx, cancel := context.WithCancel(r.ctx)
	if err := a.Notices(ctx, cancel, func(route.Notice) {}); err == nil {
		r.Error("listening has ended without an error")
	}
}
