package pebblestore

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"
)

// stoppedError is what Pebble could not go on after.
type stoppedError struct{ message string }

func (e *stoppedError) Error() string { return e.message }

// logger is what Pebble logs to. Its chatter goes nowhere; what it cannot survive ends the process.
type logger struct {
	fatal func(error)
	log   *slog.Logger
	limit *limiter
}

func (l *logger) Infof(string, ...any) {}

func (l *logger) Errorf(format string, args ...any) {
	if l.limit.allow("error") {
		l.log.Error("database", "error", fmt.Sprintf(format, args...))
	}
}

// Fatalf never returns: if it did, Pebble would report a lost write as committed. A fatal that returns belongs to a
// test; Commit turns the panic into its error.
func (l *logger) Fatalf(format string, args ...any) {
	err := &stoppedError{fmt.Sprintf(format, args...)}
	l.fatal(err)
	panic(err)
}

// counters is what the events of Pebble are counted in.
type counters struct {
	backgroundErrors, stalls, slowWrites *metrics.Counter
	stalledSeconds                       *metrics.FloatCounter
	stalledSince                         atomic.Int64 // Unix nanoseconds; 0 = not stalled
	stuck                                chan error   // the first background error, for who opens the database
}

func newCounters(set *metrics.Set) *counters {
	return &counters{
		backgroundErrors: set.NewCounter(prefix + "background_errors_total"),
		stalls:           set.NewCounter(prefix + "write_stalls_total"),
		slowWrites:       set.NewCounter(prefix + "slow_writes_total"),
		stalledSeconds:   set.NewFloatCounter(prefix + "write_stall_seconds_total"),
		stuck:            make(chan error, 1),
	}
}

// events logs what is worth waking for, each kind at most once a minute, and counts all of it.
func (c *counters) events(log *slog.Logger, limit *limiter, fatal func(error)) *pebble.EventListener {
	warn := func(kind, message string, args ...any) {
		if limit.allow(kind) {
			log.Warn(message, args...)
		}
	}
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			c.backgroundErrors.Inc()
			select {
			case c.stuck <- err:
			default:
			}
			warn("background", "the database cannot flush or compact and tries again; when it has to wait for that, sends wait too", "error", err)
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			fatal(fmt.Errorf("the database is damaged, nothing was deleted; restore a backup: %v", info))
		},
		DiskSlow: func(info pebble.DiskSlowInfo) {
			c.slowWrites.Inc()
			warn("slow", "the disk is slow", "operation", info.OpType.String(), "file", info.Path, "took", info.Duration)
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			c.stalls.Inc()
			c.stalledSince.Store(time.Now().UnixNano())
			warn("stall", "commits wait for the database", "reason", info.Reason)
		},
		WriteStallEnd: func() {
			if since := c.stalledSince.Swap(0); since != 0 {
				c.stalledSeconds.Add(time.Since(time.Unix(0, since)).Seconds())
			}
		},
	}
}

// limiter lets one line of a kind through in a minute.
type limiter struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func newLimiter() *limiter { return &limiter{last: map[string]time.Time{}} }

func (l *limiter) allow(kind string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if last, ok := l.last[kind]; ok && now.Sub(last) < time.Minute {
		return false
	}
	l.last[kind] = now
	return true
}
