package routetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"lifeline/server/route"
)

var leaseTests = []test{
	{"a lease says everything", testLease},
	{"a lease lapses, and its node is remembered", testLapse},
	{"a node id belongs to one data directory", testNodeTaken},
	{"goodbye ends a lease at once", testRelease},
}

func contextEnded(r *rig) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	return ctx, func() {}
}

func testLease(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1<<64 - 1, Directory: "disk 1|x", TTL: ttl, ExclusivePlatform: true})
	b := r.node(route.Self{Node: "b", Incarnation: 2})
	if l := r.leases(b); len(l.Live)+len(l.Known) != 0 {
		r.Errorf("an empty table knows nodes: %+v", l)
	}
	lease := route.Lease{Epoch: "e1", Addresses: []string{"10.0.0.1:7400", "[::1]:7400"}, Budget: 1 << 20, State: route.NodeDraining}
	if r.renew(a, lease, time.Minute) {
		r.Error("a new lease was held before")
	}
	lease.Generations = r.generations(a)
	if !r.renew(a, lease, time.Minute) {
		r.Error("a renewed lease was not held before")
	}
	r.renew(b, route.Lease{}, time.Minute)
	l := r.leases(b)
	if len(l.Live) != 2 || len(l.Known) != 2 {
		r.Fatalf("got %+v", l)
	}
	got := l.Live[0]
	if got.Left <= 0 || got.Left > time.Minute {
		r.Errorf("%v left of a minute", got.Left)
	}
	if !slices.Equal(got.Addresses, lease.Addresses) {
		r.Errorf("addresses %q, want %q", got.Addresses, lease.Addresses)
	}
	if got.Node != "a" || got.Incarnation != 1<<64-1 || got.Directory != "disk 1|x" || got.TTL != ttl || got.Epoch != "e1" ||
		got.Budget != 1<<20 || got.State != route.NodeDraining || got.Generations != lease.Generations {
		r.Errorf("got %+v\nwant %+v", got, lease)
	}
	if !got.ExclusivePlatform || l.Live[1].ExclusivePlatform {
		r.Errorf("exclusive by platform: %v and %v", got.ExclusivePlatform, l.Live[1].ExclusivePlatform)
	}
	if b := l.Live[1]; b.Generations != (route.Generations{}) || len(b.Addresses) != 0 {
		r.Errorf("got %+v of a node that has said nothing", b)
	}
	for _, s := range l.Known {
		if s.Released || s.Age < 0 || s.Age > time.Minute {
			r.Errorf("got %+v", s)
		}
	}
}

func testLapse(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	r.renew(a, route.Lease{}, 30*time.Millisecond)
	Eventually(r, "the lease lapses", func() bool { return len(r.leases(a).Live) == 0 })
	l := r.leases(a)
	if len(l.Known) != 1 || l.Known[0].Node != "a" || l.Known[0].Incarnation != 1 || l.Known[0].Released || l.Known[0].Age <= 0 {
		r.Errorf("got %+v", l.Known)
	}
	if r.renew(a, route.Lease{}, time.Minute) {
		r.Error("a lapsed lease was held until now")
	}
	r.world.Flush(r)
	if r.renew(a, route.Lease{}, time.Minute) {
		r.Error("a lease that was emptied away was held until now")
	}
}

func testNodeTaken(r *rig) {
	first := r.node(route.Self{Node: "a", Incarnation: 1, Directory: "disk 1"})
	r.renew(first, route.Lease{}, time.Minute)
	copied := r.node(route.Self{Node: "a", Incarnation: 2, Directory: "disk 2"})
	if _, err := copied.Renew(r.ctx, route.Lease{}, time.Minute); !errors.Is(err, route.ErrNodeTaken) {
		r.Errorf("another directory: %v", err)
	}
	if !r.renew(first, route.Lease{}, time.Minute) {
		r.Error("the first has lost its lease")
	}
	again := r.node(route.Self{Node: "a", Incarnation: 3, Directory: "disk 1"})
	if r.renew(again, route.Lease{}, 30*time.Millisecond) {
		r.Error("the next process has held the lease before")
	}
	if l := r.leases(again); len(l.Known) != 1 || l.Known[0].Incarnation != 3 {
		r.Errorf("got %+v", l)
	}
	Eventually(r, "another directory takes a lapsed id", func() bool {
		_, err := copied.Renew(r.ctx, route.Lease{}, time.Minute)
		return err == nil
	})
}

func testRelease(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	r.renew(a, route.Lease{}, time.Minute)
	if err := a.Release(r.ctx); err != nil {
		r.Fatalf("release: %v", err)
	}
	l := r.leases(a)
	if len(l.Live) != 0 || len(l.Known) != 1 || !l.Known[0].Released || l.Known[0].Incarnation != 1 {
		r.Errorf("got %+v", l)
	}
	next := r.node(route.Self{Node: "a", Incarnation: 2})
	r.renew(next, route.Lease{}, time.Minute)
	if err := a.Release(r.ctx); err != nil {
		r.Fatalf("release: %v", err)
	}
	if l := r.leases(a); len(l.Live) != 1 || l.Live[0].Incarnation != 2 || l.Known[0].Released {
		r.Errorf("the last process has released the next one's lease: %+v", l)
	}
}
