package server

import (
	"fmt"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/server/route"
)

// meter exports what the registrar counts: how far the shared table and this node's sessions drift apart, and whether
// the table is trusted. All of it is read when a scraper asks.
func (r *routes) meter(set *metrics.Set) {
	gauge := func(name string, f func() float64) { set.NewGauge(name, f) }
	c := r.Counters()
	for name, count := range map[string]*atomic.Uint64{
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
		`lifeline_route_passes_total{pass="reconcile"}`:        &c.Reconciles,
		`lifeline_route_passes_total{pass="scan"}`:             &c.Scans,
		`lifeline_routes_orphaned_total`:                       &c.Orphans,
		`lifeline_routes_repaired_total`:                       &c.Repaired,
		`lifeline_routes_expired_total`:                        &c.Expired,
		`lifeline_routes_displaced_total`:                      &c.Displaced,
		`lifeline_route_errors_total`:                          &c.Errors,
		`lifeline_route_doubts_total`:                          &c.Doubts,
	} {
		gauge(name, func() float64 { return float64(count.Load()) })
	}
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
