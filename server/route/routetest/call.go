package routetest

import (
	"fmt"
	"slices"
	"time"

	"lifeline/server/route"
)

// The steps that tests are made of. Each fails the test when the call fails.

// session is one with everything said; Started is age ago by the clock of the node opened last.
func (r *rig) session(user, device string, conn uint64, age time.Duration) route.Session {
	return route.Session{User: user, Device: device, ConnID: conn, Instance: 1 << 63, Attempt: 1, Order: conn,
		Platform: 2, Started: r.now().Add(-age), Seen: r.now()}
}

func (r *rig) register(t route.Table, batch ...route.Session) []route.Outcome {
	r.Helper()
	outcomes, err := t.Register(r.ctx, batch)
	if err != nil {
		r.Fatalf("register: %v", err)
	}
	return outcomes
}

func (r *rig) remove(t route.Table, batch ...route.Key) []bool {
	r.Helper()
	removed, err := t.Remove(r.ctx, batch)
	if err != nil {
		r.Fatalf("remove: %v", err)
	}
	return removed
}

func (r *rig) refresh(t route.Table, batch ...route.Session) []route.Freshness {
	r.Helper()
	found, err := t.Refresh(r.ctx, batch)
	if err != nil {
		r.Fatalf("refresh: %v", err)
	}
	return found
}

func (r *rig) lookup(t route.Table, users ...string) route.Lookup {
	r.Helper()
	l, err := t.Lookup(r.ctx, users)
	if err != nil {
		r.Fatalf("lookup: %v", err)
	}
	slices.SortFunc(l.Records, func(a, b route.Record) int {
		return slices.Compare([]string{a.User, a.Device}, []string{b.User, b.Device})
	})
	return l
}

func (r *rig) leases(t route.Table) route.Leases {
	r.Helper()
	l, err := t.Leases(r.ctx)
	if err != nil {
		r.Fatalf("leases: %v", err)
	}
	slices.SortFunc(l.Live, func(a, b route.Lease) int { return slices.Compare([]string{a.Node}, []string{b.Node}) })
	slices.SortFunc(l.Known, func(a, b route.Sighting) int { return slices.Compare([]string{a.Node}, []string{b.Node}) })
	return l
}

func (r *rig) generations(t route.Table) route.Generations {
	r.Helper()
	g, err := t.Generations(r.ctx)
	if err != nil {
		r.Fatalf("generations: %v", err)
	}
	return g
}

func (r *rig) renew(t route.Table, l route.Lease, ttl time.Duration) bool {
	r.Helper()
	held, err := t.Renew(r.ctx, l, ttl)
	if err != nil {
		r.Fatalf("renew: %v", err)
	}
	return held
}

// has checks which connections the table has for a user, as "device=node/conn".
func (r *rig) has(t route.Table, user string, want ...string) {
	r.Helper()
	got := []string{}
	for _, rec := range r.lookup(t, user).Records {
		got = append(got, fmt.Sprintf("%s=%s/%d", rec.Device, rec.Node, rec.ConnID))
	}
	if !slices.Equal(got, want) {
		r.Fatalf("the table has %q of %s, want %q", got, user, want)
	}
}

func want[T comparable](r *rig, what string, got []T, want ...T) {
	r.Helper()
	if !slices.Equal(got, want) {
		r.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
