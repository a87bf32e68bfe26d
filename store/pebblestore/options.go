package pebblestore

import (
	"log/slog"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lifeline/store"
	"lifeline/store/commit"
)

// format is the on-disk format. It is raised only by a release that says so: there is no way back.
const format = pebble.FormatTableFormatV6

// MaxOpenFiles bounds the descriptors of an open store. Pebble's default is 1000, more than a node keeps free for
// everything beside its connections, and a node without a free descriptor is lost.
const MaxOpenFiles = 400

// Options says how a store is opened. Only Dir is required.
type Options struct {
	Dir           string
	CacheBytes    int64 // block cache, outside the Go heap; if zero, 256 MiB
	MemTableBytes int   // one of at most four, outside the Go heap; if zero, 64 MiB

	// Sends are refused while less than the larger of the two is free.
	FloorBytes   uint64  // if zero, 2 GiB
	FloorPercent float64 // of the disk; if zero, 5; if negative, FloorBytes alone counts
	BallastBytes int64   // a file that is given up when the disk is full all the same; if zero, 64 MiB; if negative, none

	Log     *slog.Logger   // lines worth waking for; if nil, slog.Default
	Metrics *metrics.Set   // gets what is called lifeline_store_…; if nil, nothing is exported
	FS      vfs.FS         // if nil, the disk
	Commit  commit.Options // Full and Observe are set here; Fatal also ends a store whose log cannot be written

	wrap func(store.Engine) store.Engine // for tests, between committer and engine
}

func (o Options) withDefaults() Options {
	if o.CacheBytes == 0 {
		o.CacheBytes = 256 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 64 << 20
	}
	if o.FloorBytes == 0 {
		o.FloorBytes = 2 << 30
	}
	if o.FloorPercent == 0 {
		o.FloorPercent = 5
	}
	if o.BallastBytes == 0 {
		o.BallastBytes = 64 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.wrap == nil {
		o.wrap = func(e store.Engine) store.Engine { return e }
	}
	if o.Commit.Log == nil {
		o.Commit.Log = o.Log.With("dir", o.Dir)
	}
	o.Commit = o.Commit.WithDefaults()
	return o
}

// pebbleOptions tunes Pebble for small keys that are mostly new and a log that is synced at every commit.
func (o Options) pebbleOptions(cache *pebble.Cache, logger pebble.Logger, events *pebble.EventListener) *pebble.Options {
	p := &pebble.Options{
		FormatMajorVersion:          format,
		Cache:                       cache,
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		MaxOpenFiles:                MaxOpenFiles,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       1000, // 12, the default, stalls commits long before reads suffer
		LBaseMaxBytes:               64 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		Logger:                      logger,
		EventListener:               events,
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // most reads of the committer miss
	}
	return p
}
