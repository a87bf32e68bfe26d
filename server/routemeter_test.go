package server

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"lifeline/server/route"
)

// TestDriftIsExported: what the registrar counts is exported under the name that the documentation gives it.
func TestDriftIsExported(t *testing.T) {
	r := newRig(t, sharing)
	c := r.core.routes.Counters()
	want := make(map[string]uint64)
	for name, counter := range map[string]*atomic.Uint64{
		`lifeline_routes_orphaned_total`:                       &c.Orphans,
		`lifeline_routes_repaired_total`:                       &c.Repaired,
		`lifeline_routes_expired_total`:                        &c.Expired,
		`lifeline_routes_displaced_total`:                      &c.Displaced,
		`lifeline_route_lookups_total{outcome="hit"}`:          &c.Hits,
		`lifeline_route_lookups_total{outcome="miss"}`:         &c.Misses,
		`lifeline_route_lookups_total{outcome="unknown"}`:      &c.Unknowns,
		`lifeline_route_writes_total{what="registered"}`:       &c.Registered,
		`lifeline_route_writes_total{what="refreshed"}`:        &c.Refreshed,
		`lifeline_route_writes_total{what="removed"}`:          &c.Removed,
		`lifeline_route_events_lost_total{event="registered"}`: &c.LostRegistered,
		`lifeline_route_events_lost_total{event="refreshed"}`:  &c.LostRefreshed,
		`lifeline_route_events_lost_total{event="removed"}`:    &c.LostRemoved,
		`lifeline_route_events_lost_total{event="asked"}`:      &c.LostAsked,
		`lifeline_route_errors_total`:                          &c.Errors,
		`lifeline_route_doubts_total`:                          &c.Doubts,
		`lifeline_route_passes_total{pass="reconcile"}`:        &c.Reconciles,
		`lifeline_route_passes_total{pass="scan"}`:             &c.Scans,
	} {
		want[name] = uint64(100 + len(want))
		counter.Store(want[name])
	}
	for s := route.Healthy; s <= route.Recovering; s++ {
		want[fmt.Sprintf(`lifeline_route_breaker_state{state=%q}`, s)] = 0
	}
	want[`lifeline_route_breaker_state{state="recovering"}`] = 1 // nobody has asked the table yet
	want[`lifeline_route_refresh_lag_seconds`] = 0

	var page bytes.Buffer
	r.core.opts.Metrics.WritePrometheus(&page)
	got := make(map[string]string)
	for line := range strings.Lines(page.String()) {
		at := strings.LastIndexByte(line, ' ')
		got[line[:max(at, 0)]] = strings.TrimSpace(line[at+1:])
	}
	for name, n := range want {
		if got[name] != fmt.Sprint(n) {
			t.Errorf("%s is %q, want %d", name, got[name], n)
		}
	}
	if age := got["lifeline_route_lease_age_seconds"]; age == "" || age == "0" {
		t.Errorf("the lease is %q seconds old", age)
	}
}
