package server

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/server/route"
)

// meter exports what the registrar counts: how far the shared table and this node's sessions drift apart, and whether
// the table is trusted. All of it is read when a scraper asks.
func (r *routes) meter(set *metrics.Set) {
	gauge := func(name string, f func() float64) { set.NewGauge(name, f) }
	c := r.Counters()
	set.RegisterMetricsWriter(func(w io.Writer) { writeCounters(w, c) })
	for s := route.Healthy; s <= route.Recovering; s++ {
		gauge(fmt.Sprintf(`lifeline_route_breaker_state{state=%q}`, s), func() float64 {
			if c.State() == s {
				return 1
			}
			return 0
		})
	}
	gauge("lifeline_route_lease_age_seconds", func() float64 { return r.LeaseAge().Seconds() })
	gauge("lifeline_route_refresh_lag_seconds", func() float64 { return c.RefreshLag().Seconds() })
	gauge(`lifeline_queue_depth{queue="route_events"}`, func() float64 { events, _ := r.Queued(); return float64(events) })
	gauge(`lifeline_queue_depth{queue="route_records"}`, func() float64 { _, records := r.Queued(); return float64(records) })
}

// writeCounters writes what the registrar counts, the members of a family behind one another.
func writeCounters(w io.Writer, c *route.Counters) {
	for _, family := range []struct {
		name    string
		members []member
	}{
		{"lifeline_route_lookups_total", []member{{`{outcome="hit"}`, &c.Hits}, {`{outcome="miss"}`, &c.Misses}, {`{outcome="unknown"}`, &c.Unknowns}}},
		{"lifeline_route_writes_total", []member{{`{what="registered"}`, &c.Registered}, {`{what="refreshed"}`, &c.Refreshed}, {`{what="removed"}`, &c.Removed}}},
		{"lifeline_route_events_lost_total", []member{{`{event="registered"}`, &c.LostRegistered}, {`{event="refreshed"}`, &c.LostRefreshed},
			{`{event="removed"}`, &c.LostRemoved}, {`{event="asked"}`, &c.LostAsked}}},
		{"lifeline_route_passes_total", []member{{`{pass="reconcile"}`, &c.Reconciles}, {`{pass="scan"}`, &c.Scans}}},
		{"lifeline_routes_orphaned_total", []member{{"", &c.Orphans}}},
		{"lifeline_routes_repaired_total", []member{{"", &c.Repaired}}},
		{"lifeline_routes_expired_total", []member{{"", &c.Expired}}},
		{"lifeline_routes_displaced_total", []member{{"", &c.Displaced}}},
		{"lifeline_route_errors_total", []member{{"", &c.Errors}}},
		{"lifeline_route_doubts_total", []member{{"", &c.Doubts}}},
	} {
		metrics.WriteMetadataIfNeeded(w, family.name, "counter")
		for _, m := range family.members {
			fmt.Fprintf(w, "%s%s %d\n", family.name, m.labels, m.count.Load())
		}
	}
}

type member struct {
	labels string
	count  *atomic.Uint64
}
