package pebblestore

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lifeline/store"
	"lifeline/store/commit"
)

// slowDisk is how long a write may take before it is called slow.
const slowDisk = 5 * time.Second

// Store is the durable store.Store. All methods may be called from any goroutine, but Close not from a Sink or a Replier.
type Store struct {
	*commit.Store
	dir      *directory
	disk     *disk
	db       *pebble.DB
	slow     io.Closer // stops the watch over slow writes
	counters *counters
	sample   *sample

	stop    chan struct{}
	watcher sync.WaitGroup
	closing sync.Once
	closed  error
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a directory, or makes one there. It refuses a directory that another process uses, that is
// older than the last start on this machine knows, or that is damaged, and then changes nothing in it.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	dir, err := lockDirectory(o.FS, o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, stop: make(chan struct{})}
	if err = dir.refuseHalf(); err == nil {
		err = s.open(o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", o.Dir, err), dir.unlock())
	}
	return s, nil
}

func (s *Store) open(o Options) error {
	set := o.Metrics
	if set == nil {
		set = metrics.NewSet() // which nobody reads
	}
	observed := newHistograms(set)
	s.counters, s.sample = newCounters(set), newSample(set)
	limit := newLimiter()
	fatal := onceFatal(o.Commit.Fatal)
	events := s.counters.events(o.Log, limit, fatal)
	s.disk = &disk{
		fs: o.FS, dir: o.Dir, bytes: o.FloorBytes, percent: o.FloorPercent, ballast: o.BallastBytes,
		log: o.Log, limit: limit, pause: time.Sleep,
	}

	fs, slow := vfs.WithDiskHealthChecks(o.FS, slowDisk, nil, events.DiskSlow)
	s.slow = slow
	var opened atomic.Bool // until then there is nothing to end, and Pebble returns the error
	fs = &timedFS{vfs.OnDiskFull(fs, s.disk.exhausted), observed.observeFsync, func(err error) {
		if opened.Load() {
			fatal(fmt.Errorf("the log cannot be written: %w", err))
		}
	}, s.disk.spoiled}
	cache := pebble.NewCache(o.CacheBytes)
	defer cache.Unref()
	log := &logger{fatal, o.Log, limit}
	p := o.pebbleOptions(cache, log, events)
	p.FS, p.Lock = fs, s.dir.lock
	db, err := openPebble(o.Dir, p, s.counters.stuck)
	if err != nil {
		return errors.Join(err, slow.Close())
	}
	s.db = db
	opened.Store(true)
	engine := newEngine(db)

	s.disk.look()
	o.Commit.Full, o.Commit.Observe, o.Commit.Fatal = s.disk.full, observed.observeBatch, fatal
	if err = s.dir.boot(engine); err == nil {
		s.Store, err = commit.Open(o.wrap(engine), o.Commit)
	}
	if err != nil {
		return errors.Join(err, engine.Close(), slow.Close())
	}
	s.sample.take(db.Metrics())
	s.register(set)
	s.watcher.Go(s.watch)
	return nil
}

// openPebble opens the database, or gives up when it cannot write a table: replaying its log, Pebble tries that for ever.
func openPebble(dir string, p *pebble.Options, stuck <-chan error) (*pebble.DB, error) {
	type result struct {
		db  *pebble.DB
		err error
	}
	done, gone := make(chan result), make(chan struct{})
	go func() {
		db, err := replay(dir, p)
		select {
		case done <- result{db, err}:
		case <-gone:
			if err == nil {
				db.Close() // what kept it has ended, too late
			}
		}
	}()
	select {
	case r := <-done:
		return r.db, r.err
	case err := <-stuck:
		close(gone)
		return nil, fmt.Errorf("its log cannot be replayed; if the disk is full, make space: %w", err)
	}
}

// replay returns what Pebble cannot go on after as an error: until the store is open there is nothing to end.
func replay(dir string, p *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *stoppedError:
			err = p
		default:
			panic(p)
		}
	}()
	if err = refuseDamage(p.FS, dir); err == nil {
		db, err = pebble.Open(dir, p)
	}
	if errno := syscall.Errno(0); err == nil || errors.As(err, &errno) && errno != syscall.ENOENT {
		return db, err
	}
	return nil, fmt.Errorf("%w. If files of it are damaged or missing, keep it as it is and restore a backup elsewhere: "+
		"lifelinectl store restore BACKUP DIR", err)
}

// onceFatal makes the first of several causes the one that is told.
func onceFatal(fatal func(error)) func(error) {
	var once sync.Once
	return func(err error) { once.Do(func() { fatal(err) }) }
}

// watch looks at the disk and at Pebble's numbers.
func (s *Store) watch() {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.disk.look()
			s.sample.take(s.db.Metrics())
		}
	}
}

// Close commits and answers what is queued, stores the cursors and lets go of the directory. A second Close does nothing.
func (s *Store) Close() error {
	s.closing.Do(func() {
		close(s.stop)
		s.watcher.Wait()
		s.closed = errors.Join(s.Store.Close(), s.slow.Close(), s.dir.unlock())
	})
	return s.closed
}
