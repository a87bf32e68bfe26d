package server

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/server/auth"
	"lifeline/server/delivery"
	"lifeline/server/liveness"
	"lifeline/store"
)

// CoreOptions are what a Core is made of. Validated by config; NewCore trusts them.
type CoreOptions struct {
	Loops             int                                   // 1 to session.MaxLoops
	Open              func(store.Sink) (store.Store, error) // opens the store; its events go to the sink
	Verifier          auth.Verifier
	Heartbeat         liveness.Policy
	MaxConnections    int
	MaxPayload        int                           // bytes of one message's payload
	PushWindow        int                           // messages sent and not acknowledged, per session
	MaxBodyBytes      int64                         // memory for unfinished frames and waiting log-ins, all connections together
	MaxOutboundBytes  int64                         // what waits for sockets that do not take it, all connections together; if zero, 256 MiB
	Hosts             []string                      // host:port, told to every client; nil = none
	Routes            *RouteOptions                 // a shared online table; nil = this node is alone
	Readers           int                           // goroutines that read the store; if zero, 8
	ReadQueue         int                           // reads that wait; if zero, 16384
	AuthQueue         int                           // log-ins that wait for a check; if zero, auth's default
	Lane              int                           // deliveries that wait for one loop; if zero, 16384
	ExclusivePlatform bool                          // a user has one session on each platform, instead of one for each device
	MaySee            func(asker, user string) bool // who may know of a user's presence; nil = everybody
	Metrics           *metrics.Set
	Log               *slog.Logger
}

// Core is a node without sockets: the shards and what they share. An engine brings connections to the shards; a test
// brings its own.
type Core struct {
	// Set at construction.
	opts    CoreOptions
	log     *slog.Logger
	started time.Time
	store   store.Store
	dir     *delivery.Directory
	fanout  *delivery.Fanout
	pool    *auth.Pool
	readers *delivery.Readers
	lookups *lookups
	shards  []*Shard
	meter   *meter
	routes  *routes // nil = this node is alone
	epoch   store.Epoch
	hosts   [][]byte // of CoreOptions.Hosts

	order         atomic.Uint64 // of the newest Connect; see nextOrder
	connections   atomic.Int64
	bodyBytes     atomic.Int64 // of CoreOptions.MaxBodyBytes
	outboundBytes atomic.Int64 // of CoreOptions.MaxOutboundBytes, as of the last write or sweep of each connection
	complained    complained
	stopping      atomic.Bool // CloseSessions was called
	displaced     displaced
	ticks         chan struct{} // closed to end the ticker
	stopTicks     sync.Once
	ticking       sync.WaitGroup
}

// NewCore opens the store and starts the pools. Run the shards on their loops by Bind, and the clock by StartClock.
func NewCore(o CoreOptions) (*Core, error) {
	if o.Readers == 0 {
		o.Readers = 8
	}
	if o.ReadQueue == 0 {
		o.ReadQueue = 16384
	}
	if o.MaxOutboundBytes == 0 {
		o.MaxOutboundBytes = 256 << 20
	}
	if o.Lane == 0 {
		o.Lane = defaultLane
	}
	c := &Core{opts: o, log: o.Log, started: time.Now(), dir: delivery.NewDirectory(), ticks: make(chan struct{})}
	for _, h := range o.Hosts {
		c.hosts = append(c.hosts, []byte(h))
	}
	c.meter = newMeter(o.Metrics)
	for i := range o.Loops {
		c.shards = append(c.shards, newShard(c, i))
	}
	c.fanout = delivery.NewFanout(c.dir, o.Loops, c, c.now, c.meter.committed)
	var err error
	if c.store, err = o.Open(c.fanout); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	c.epoch = c.store.Epoch()
	if o.Routes != nil {
		if err := c.openRoutes(o.Routes); err != nil {
			return nil, errors.Join(err, c.store.Close())
		}
	}
	c.pool = auth.NewPool(auth.Options{Verifier: o.Verifier, Queue: o.AuthQueue, Log: o.Log})
	c.readers = delivery.NewReaders(c.store, o.Readers, o.ReadQueue, o.Log)
	c.lookups = newLookups(c)
	c.gauges(o.Metrics)
	return c, nil
}

// Shard returns the shard of a loop.
func (c *Core) Shard(loop int) *Shard { return c.shards[loop] }

// Deliver implements delivery.Poster.
func (c *Core) Deliver(loop int, items []delivery.Item) {
	if n := c.shards[loop].mail.deliver(items); n > 0 {
		c.meter.overflowed.Add(n)
	}
}

// now is the node's clock: nanoseconds since the start, monotonic.
func (c *Core) now() int64 { return int64(time.Since(c.started)) }

// nextOrder returns the moment of a Connect that is complete, by the node's clock, and no two the same. Unlike the loops'
// clocks it goes on while the process is paused, and it is exact: between nodes the later session wins, were it later by
// a millisecond.
func (c *Core) nextOrder() uint64 {
	for {
		last := c.order.Load()
		if next := max(last+1, uint64(c.now())); c.order.CompareAndSwap(last, next) {
			return next
		}
	}
}

// sweepTicks is how many ticks a full pass of the sweep takes: a second.
const sweepTicks = 10

// StartClock starts the goroutine that moves the loops' clocks. It posts; the loops work.
func (c *Core) StartClock() {
	c.ticking.Go(func() {
		t := time.NewTicker(liveness.TickInterval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				for _, sh := range c.shards {
					sh.mail.tick()
				}
			case <-c.ticks:
				return
			}
		}
	})
}

// CloseSessions tells every client to come back and closes every connection, each with its chance to read why; who comes
// from now on is told the same. It returns at once; Connections tells when it is done.
func (c *Core) CloseSessions() {
	c.stopping.Store(true)
	for _, sh := range c.shards {
		sh.mail.post(answer{kind: answerStop})
	}
}

// Connections is the number of open connections. Any goroutine.
func (c *Core) Connections() int { return int(c.connections.Load()) }

// Close stops the clock, the pools and the store. The loops must have stopped, or be idle: answers that come now are
// left in the mailboxes.
func (c *Core) Close() error {
	c.stopTicks.Do(func() { close(c.ticks) })
	c.ticking.Wait()
	c.stopRoutes()
	c.pool.Close()
	c.readers.Close()
	c.lookups.close()
	return c.store.Close()
}

// admit counts a new connection in, or refuses it at the cap.
func (c *Core) admit() bool {
	if c.connections.Add(1) > int64(c.opts.MaxConnections) {
		c.connections.Add(-1)
		return false
	}
	return true
}

// borrow takes n bytes of the budget for unfinished frames and waiting log-ins.
func (c *Core) borrow(n int) bool {
	if c.bodyBytes.Add(int64(n)) > c.opts.MaxBodyBytes {
		c.bodyBytes.Add(-int64(n))
		return false
	}
	return true
}

func (c *Core) giveBack(n int) { c.bodyBytes.Add(-int64(n)) }

var _ delivery.Poster = (*Core)(nil)
