package pebblestore

import (
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"

	"lifeline/store/commit"
)

const prefix = "lifeline_store_"

// sample is what is read of Pebble once a second, so that a scrape waits for nobody's lock.
type sample struct {
	l0Sublevels, l0Files, compactionDebt, memTables, diskUsed atomic.Int64
	walBytes, cacheHits, cacheMisses                          *metrics.Counter // Pebble's own, since it was opened
}

func newSample(set *metrics.Set) *sample {
	return &sample{
		walBytes:    set.NewCounter(prefix + "wal_bytes_total"),
		cacheHits:   set.NewCounter(prefix + "cache_hits_total"),
		cacheMisses: set.NewCounter(prefix + "cache_misses_total"),
	}
}

func (s *sample) take(m *pebble.Metrics) {
	s.l0Sublevels.Store(int64(m.Levels[0].Sublevels))
	s.l0Files.Store(m.Levels[0].TablesCount)
	s.compactionDebt.Store(int64(m.Compact.EstimatedDebt))
	s.memTables.Store(int64(m.MemTable.Size))
	s.diskUsed.Store(int64(m.DiskSpaceUsage()))
	s.walBytes.Set(m.WAL.BytesWritten)
	s.cacheHits.Set(uint64(m.BlockCache.Hits))
	s.cacheMisses.Set(uint64(m.BlockCache.Misses))
}

// histograms is what is observed as it happens.
type histograms struct {
	fsync, commit  *metrics.PrometheusHistogram // seconds
	commands, keys *metrics.PrometheusHistogram // of a batch
	batchBytes     *metrics.Counter
}

func newHistograms(set *metrics.Set) *histograms {
	seconds := metrics.ExponentialBuckets(50e-6, 2, 16) // 50 µs … 1.6 s
	sizes := metrics.ExponentialBuckets(1, 4, 7)        // 1 … 4,096
	return &histograms{
		fsync:      set.NewPrometheusHistogramExt(prefix+"fsync_seconds", seconds),
		commit:     set.NewPrometheusHistogramExt(prefix+"commit_seconds", seconds),
		commands:   set.NewPrometheusHistogramExt(prefix+"batch_commands", sizes),
		keys:       set.NewPrometheusHistogramExt(prefix+"batch_keys", sizes),
		batchBytes: set.NewCounter(prefix + "batch_bytes_total"),
	}
}

func (h *histograms) observeBatch(b commit.Batch) {
	if b.Keys == 0 {
		return // nothing was written
	}
	h.commit.Update(b.Took.Seconds())
	h.commands.Update(float64(b.Commands))
	h.keys.Update(float64(b.Keys))
	h.batchBytes.Add(b.Bytes)
}

func (h *histograms) observeFsync(took time.Duration) { h.fsync.Update(took.Seconds()) }

// register exports the numbers that are asked for.
func (s *Store) register(set *metrics.Set) {
	gauge := func(name string, value func() float64) { set.NewGauge(prefix+name, value) }
	load := func(name string, value func(commit.Load) int) {
		gauge(name, func() float64 { return float64(value(s.Load())) })
	}
	load("queue_commands", func(l commit.Load) int { return l.QueueCommands })
	load("queue_bytes", func(l commit.Load) int { return l.QueueBytes })
	load("obligations", func(l commit.Load) int { return l.Obligations })
	load("cursors_waiting", func(l commit.Load) int { return l.Cursors })
	for name, value := range map[string]*atomic.Int64{
		"l0_sublevels":          &s.sample.l0Sublevels,
		"l0_files":              &s.sample.l0Files,
		"compaction_debt_bytes": &s.sample.compactionDebt,
		"memtable_bytes":        &s.sample.memTables,
		"disk_used_bytes":       &s.sample.diskUsed,
	} {
		gauge(name, func() float64 { return float64(value.Load()) })
	}
	gauge("disk_free_bytes", func() float64 { return float64(s.disk.free.Load()) })
	gauge("disk_full", func() float64 {
		if s.disk.full() {
			return 1
		}
		return 0
	})
}
