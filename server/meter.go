package server

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/protocol"
	"lifeline/server/liveness"
	"lifeline/store"
)

// meter holds the handles of what the node counts. All may be used from any goroutine.
type meter struct {
	framesIn, framesOut [256]*metrics.Counter
	closes, refusals    map[protocol.Code]*metrics.Counter

	panics, overflowed, duplicates        *metrics.Counter
	readsFailed, readsEmpty, readsRefused *metrics.Counter
	leaked, lagging, lateTicks            *metrics.Counter
	paths                                 [liveness.PathClosed + 1]*metrics.Counter // transitions into

	lag, unacked                        *metrics.PrometheusHistogram
	receivedToDurable, durableToWritten *metrics.PrometheusHistogram
	durableToAnswered                   *metrics.PrometheusHistogram
}

func newMeter(set *metrics.Set) *meter {
	positions := metrics.ExponentialBuckets(1, 4, 10)
	seconds := metrics.ExponentialBuckets(0.0001, 2, 18)
	ages := metrics.ExponentialBuckets(0.25, 2, 14)
	m := &meter{
		closes:            make(map[protocol.Code]*metrics.Counter),
		refusals:          make(map[protocol.Code]*metrics.Counter),
		panics:            set.NewCounter("lifeline_panics_total"),
		overflowed:        set.NewCounter("lifeline_deliveries_overflowed_total"),
		duplicates:        set.NewCounter("lifeline_client_duplicates_total"),
		leaked:            set.NewCounter("lifeline_leaked_sessions_total"),
		lagging:           set.NewCounter("lifeline_lagging_total"),
		lateTicks:         set.NewCounter("lifeline_late_ticks_total"),
		readsFailed:       set.NewCounter(`lifeline_reads_total{outcome="failed"}`),
		readsEmpty:        set.NewCounter(`lifeline_reads_total{outcome="empty"}`),
		readsRefused:      set.NewCounter(`lifeline_reads_total{outcome="refused"}`),
		lag:               set.NewPrometheusHistogramExt("lifeline_cursor_lag_positions", positions),
		unacked:           set.NewPrometheusHistogramExt("lifeline_unacked_age_seconds", ages),
		receivedToDurable: set.NewPrometheusHistogramExt(`lifeline_latency_seconds{segment="received_to_durable"}`, seconds),
		durableToWritten:  set.NewPrometheusHistogramExt(`lifeline_latency_seconds{segment="durable_to_written"}`, seconds),
		durableToAnswered: set.NewPrometheusHistogramExt(`lifeline_latency_seconds{segment="durable_to_answered"}`, seconds),
	}
	for i := range 256 {
		name := protocol.Type(i).String()
		m.framesIn[i] = set.GetOrCreateCounter(fmt.Sprintf(`lifeline_frames_total{direction="in",type=%q}`, name))
		m.framesOut[i] = set.GetOrCreateCounter(fmt.Sprintf(`lifeline_frames_total{direction="out",type=%q}`, name))
	}
	for p := range m.paths {
		m.paths[p] = set.NewCounter(fmt.Sprintf(`lifeline_paths_total{state=%q}`, liveness.Path(p)))
	}
	for _, code := range protocol.Codes() {
		m.closes[code] = set.NewCounter(fmt.Sprintf(`lifeline_closes_total{reason=%q}`, code.Metric()))
		m.refusals[code] = set.NewCounter(fmt.Sprintf(`lifeline_refusals_total{code=%q}`, code.Metric()))
	}
	return m
}

func (m *meter) closed(code protocol.Code)  { m.closes[code].Inc() }
func (m *meter) refused(code protocol.Code) { m.refusals[code].Inc() }

// committed watches the committer: how long a message waited to be durable.
func (m *meter) committed(e *store.Event, now int64) {
	if e.Origin.Received != 0 {
		m.receivedToDurable.Update(inSeconds(now - e.Origin.Received))
	}
}

func (m *meter) written(ns int64)  { m.durableToWritten.Update(inSeconds(ns)) }
func (m *meter) answered(ns int64) { m.durableToAnswered.Update(inSeconds(ns)) }

func inSeconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// gauges registers what is read when a scraper asks.
func (c *Core) gauges(set *metrics.Set) {
	gauge := func(name string, f func() int) { set.NewGauge(name, func() float64 { return float64(f()) }) }
	gauge("lifeline_connections", c.Connections)
	gauge("lifeline_connections_max", func() int { return c.opts.MaxConnections })
	gauge("lifeline_sessions", c.Sessions)
	gauge(`lifeline_sessions_in_doubt{state="probing"}`, c.doubted(func(d *doubts) *atomic.Int64 { return &d.paths[liveness.PathProbing] }))
	gauge(`lifeline_sessions_in_doubt{state="suspect"}`, c.doubted(func(d *doubts) *atomic.Int64 { return &d.paths[liveness.PathSuspect] }))
	gauge(`lifeline_sessions_in_doubt{state="lagging"}`, c.doubted(func(d *doubts) *atomic.Int64 { return &d.lagging }))
	gauge("lifeline_users_present", c.dir.Users)
	gauge("lifeline_unfinished_bytes", func() int { return int(c.bodyBytes.Load()) })
	gauge("lifeline_outbound_bytes", func() int { return int(c.outboundBytes.Load()) })
	gauge(`lifeline_queue_depth{queue="closing"}`, func() (n int) {
		for _, sh := range c.shards {
			n += int(sh.closing.Load())
		}
		return n
	})
	gauge(`lifeline_queue_depth{queue="auth"}`, c.pool.Depth)
	gauge(`lifeline_queue_depth{queue="reads"}`, c.readers.Depth)
	gauge(`lifeline_queue_depth{queue="lookups"}`, c.lookups.depth)
	lanes := func(lane int) func() int {
		return func() (n int) {
			for _, sh := range c.shards {
				answers, items, overflow := sh.mail.depth()
				n += [...]int{answers, items, overflow}[lane]
			}
			return n
		}
	}
	gauge(`lifeline_queue_depth{queue="answers"}`, lanes(0))
	gauge(`lifeline_queue_depth{queue="deliveries"}`, lanes(1))
	gauge(`lifeline_queue_depth{queue="overflow"}`, lanes(2))
}

// Sessions is the number of authenticated sessions. Any goroutine.
func (c *Core) Sessions() (n int) {
	for _, sh := range c.shards {
		n += int(sh.sessions.Load())
	}
	return n
}

// complainEvery is how often one kind of trouble is worth a line.
const complainEvery = 10 * time.Second

// complained remembers when there was a line for each kind of trouble, of which there are a handful. Loops ask it in
// floods of trouble, so it has no lock of its own.
type complained struct {
	at sync.Map // string → *atomic.Int64, the node's clock plus one
}

// due reports whether there is to be a line now.
func (c *complained) due(what string, now int64) bool {
	v, known := c.at.Load(what)
	if !known {
		v, _ = c.at.LoadOrStore(what, new(atomic.Int64))
	}
	at := v.(*atomic.Int64)
	last := at.Load()
	return (last == 0 || now+1-last >= int64(complainEvery)) && at.CompareAndSwap(last, now+1)
}

// complain logs trouble that may come in floods, each kind at most once in complainEvery.
func (c *Core) complain(what string, err error) {
	if c.complained.due(what, c.now()) {
		c.log.Warn(what, "err", err)
	}
}
