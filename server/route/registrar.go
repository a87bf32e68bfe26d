package route

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Host is the node whose sessions a [Registrar] registers. Its methods are called on the Registrar's goroutines and
// must not wait: they pass the question on to the event loops, and these call reply, once, whenever they have the
// answer. For one session, Registered, Removed and replies that tell of it must come from its own loop.
type Host interface {
	// Walk lists live sessions, at most n, from a cursor on; 0 is the start. Next is the cursor for what follows, 0 at
	// the end. Sessions that are live all the time are listed at least once in a walk.
	Walk(cursor uint64, n int, reply func(sessions []Session, next uint64))
	// Holds tells which of the connections are live sessions.
	Holds(conns []uint64, reply func(held []bool))
	// Displaced closes a session that has lost its place to one on another node. The connection may be gone.
	Displaced(conn uint64, v Verdict)
}

// Options of a [Registrar].
type Options struct {
	Table Table
	Self  Self // the one the table was made with
	Host  Host

	Epoch     string   // of this node's store
	Addresses []string // for other nodes
	Budget    int      // connections; see [Registrar.Announce]

	Lease          time.Duration    // if zero, DefaultLease
	Queue          int              // events that wait, and records that wait to be written, each; if zero, 65,536; at least 2
	Pace           int              // sessions or records per second of reconcile and scan; if zero, 20,000
	ReconcileEvery time.Duration    // if zero, 5 min; ± 10 %
	Settle         time.Duration    // after a doubt, the least time until this node's word counts again: time for others to have the same doubt; if zero, a third of Lease; if negative, none
	Now            func() time.Time // with a monotonic reading; if nil, time.Now
	Log            *slog.Logger
}

// Registrar keeps the table in step with the sessions of one node, and answers who is online. One goroutine does all
// the writing, one batch at a time.
type Registrar struct {
	// Set at construction.
	opts     Options
	table    Table
	host     Host
	log      *slog.Logger
	now      func() time.Time
	begun    time.Time
	poll     time.Duration // how often the leases of all nodes are read
	inbox    *inbox
	counters Counters
	asked    chan struct{} // closed by Run

	// From any goroutine.
	view       atomic.Pointer[view]
	budget     atomic.Int64
	nodeState  atomic.Int32
	readFailed atomic.Bool  // a look-up has failed: read the leases at once
	announced  atomic.Bool  // the node's state has changed: renew at once
	stale      atomic.Bool  // a look-up has met another generation: doubt
	deaf       atomic.Bool  // notices may have been lost: reconcile soon
	foreigner  atomic.Int64 // nanoseconds since the start that a foreign lease was last read, 0 = not by the last reading

	// Guarded by mu.
	mu     sync.Mutex
	roster roster

	// Owned by Run.
	breaker     Breaker
	pending     pending
	carried     Generations // in the lease; none unless the table is trusted
	connections uint64
	leased      bool // the lease was ours at some time
	knocked     bool // the table was asked for the leases
	advised     bool // the table has told what an operator should change, and it was said
	untold      bool // it was said that the table does not tell
	unlike      bool // it was said that another node displaces by another rule
	fatal       error
	flushAt     time.Time // no batch that is not full before it
	renewAt     time.Time
	pollAt      time.Time
	looked      time.Time // when the leases were last asked for and told
	reconcileAt time.Time
	scanAt      time.Time
	rec         reconcile
	scan        scan
	questions   int   // to the host, unanswered
	orphans     []Key // records of this process without a session, at most a few batches
}

// view is what a look-up needs to know of the Registrar's state.
type view struct {
	state   State
	carried Generations
}

// NewRegistrar returns a Registrar that waits for Run.
func NewRegistrar(o Options) (*Registrar, error) {
	if o.Table == nil || o.Host == nil || o.Log == nil || o.Self.Node == "" || o.Self.TTL <= 0 {
		return nil, errors.New("a registrar needs a table, a host, a log, a node id and a time to live")
	}
	if o.Queue == 0 {
		o.Queue = 1 << 16
	}
	o.Queue = max(o.Queue, 2)
	if o.Pace == 0 {
		o.Pace = 20_000
	}
	if o.ReconcileEvery == 0 {
		o.ReconcileEvery = 5 * time.Minute
	}
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Settle == 0 {
		o.Settle = o.Lease / 3
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Registrar{opts: o, table: o.Table, host: o.Host, log: o.Log, now: o.Now, begun: o.Now(), poll: o.Lease / 15,
		inbox: newInbox(o.Queue), asked: make(chan struct{}), roster: newRoster(o.Self, 4*o.Lease), pending: newPending(o.Queue)}
	r.budget.Store(int64(o.Budget))
	r.breaker = NewBreaker(r.begun)
	r.reconcileAt = r.begun.Add(r.jitter())
	r.scanAt = r.begun.Add(r.jitter())
	r.publish()
	return r, nil
}

// jitter is one period of reconcile.
func (r *Registrar) jitter() time.Duration {
	return time.Duration(float64(r.opts.ReconcileEvery) * (0.9 + 0.2*rand.Float64()))
}

// Registered says that a session is live. From any goroutine; it does not wait.
func (r *Registrar) Registered(s Session) {
	if !r.inbox.post(event{kind: registered, at: r.now(), session: s}) {
		r.counters.LostRegistered.Add(1)
	}
}

// Refreshed says that a live session's record is due to be rewritten: a third of the time to live has passed, or its
// suspect flag is another. From any goroutine; it does not wait.
func (r *Registrar) Refreshed(s Session) {
	if !r.inbox.post(event{kind: refreshed, at: r.now(), session: s}) {
		r.counters.LostRefreshed.Add(1)
	}
}

// Removed says that a session has ended. From any goroutine; it does not wait.
func (r *Registrar) Removed(user, device string, conn uint64) {
	s := Session{User: user, Device: device, ConnID: conn}
	if !r.inbox.post(event{kind: removed, at: r.now(), session: s}) {
		r.counters.LostRemoved.Add(1)
	}
}

// Announce changes what the lease says of this node: at once if the state is another, else with the next renewal. From
// any goroutine; it does not wait.
func (r *Registrar) Announce(state NodeState, budget int) {
	r.budget.Store(int64(budget))
	if r.nodeState.Swap(int32(state)) != int32(state) {
		r.announced.Store(true)
		r.inbox.poke()
	}
}

// Counters may be read from any goroutine.
func (r *Registrar) Counters() *Counters { return &r.counters }

// Queued is how many events and how many records wait, for gauges. From any goroutine.
func (r *Registrar) Queued() (events, records int) {
	return r.inbox.depth(), int(r.counters.queued.Load())
}

// LeaseAge is the time since the lease was last renewed, or since the start. From any goroutine.
func (r *Registrar) LeaseAge() time.Duration {
	return r.now().Sub(r.begun) - time.Duration(r.counters.leased.Load())
}

// Foreign reports whether another live node has a store of another history: then the nodes form no cluster, and what
// one stores the other never sees. While the leases cannot be read it stays true for a minute after it last was. From
// any goroutine, an event loop too.
func (r *Registrar) Foreign() bool {
	last := r.foreigner.Load()
	if last == 0 {
		return false
	}
	readable := r.view.Load().usable()
	return readable || r.now().Sub(r.begun)-time.Duration(last) < 4*r.opts.Lease
}

// Asked is closed when the table was asked for the leases, and has told them or has failed; a few of a table's calls after
// the start of Run. It stays open if Run ends with [ErrNodeTaken]. From any goroutine.
func (r *Registrar) Asked() <-chan struct{} { return r.asked }

func (v *view) usable() bool { return Breaker{State: v.state}.Usable() }

// Run keeps the table in step until ctx ends; then it says goodbye for this incarnation and returns nil. It returns
// [ErrNodeTaken] if the node's id belongs to another live process at the start. It is called once.
func (r *Registrar) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	listening.Go(func() { r.listen(ctx) })
	defer listening.Wait()
	defer cancel()
	calls := context.WithoutCancel(ctx) // they take a bounded time, and one that is broken off may have been applied
	for ctx.Err() == nil {
		r.absorb()
		if busy := r.turn(calls); r.fatal != nil {
			return r.fatal
		} else if !busy {
			r.wait(ctx)
		}
	}
	return r.goodbye()
}

// goodbye releases the lease: records of this incarnation stop counting at once, so they need not be removed one by one.
func (r *Registrar) goodbye() error {
	if !r.leased {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := r.table.Release(ctx); err != nil {
		return fmt.Errorf("release the lease: %w", err)
	}
	return nil
}

// ready reports whether the table is used: a probe has gone through since the last failure or doubt.
func (r *Registrar) ready() bool { return r.breaker.Usable() && r.rec.started }

// turn does a bounded piece of everything that is due and reports whether there was anything. What one step finds out may
// end the turn: nothing is written, and least of all a lease, on what was true before.
func (r *Registrar) turn(ctx context.Context) (busy bool) {
	now := r.now()
	if !r.ready() {
		if now.Before(r.probeAt()) {
			return false
		}
		r.probe(ctx)
		return true
	}
	for _, step := range []func(context.Context, time.Time) bool{r.keep, r.flush, r.bury, r.reconcileStep, r.scanStep} {
		if !r.ready() {
			return true
		}
		busy = step(ctx, now) || busy
	}
	return busy
}

func (r *Registrar) probeAt() time.Time {
	if r.breaker.Usable() {
		return r.rec.notBefore
	}
	return r.breaker.Probe
}

// wait sleeps until something is due or has come. While a batch is gathered, only what is urgent is worth waking for.
func (r *Registrar) wait(ctx context.Context) {
	until, wake := r.probeAt(), r.inbox.wake
	if r.ready() {
		until = r.pollAt
		for _, at := range []time.Time{r.renewAt, r.rec.due(r), r.scanDue()} {
			if at.Before(until) {
				until = at
			}
		}
		if len(r.pending.conns) > 0 {
			until, wake = r.flushAt, nil
		}
	}
	timer := time.NewTimer(until.Sub(r.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-r.inbox.urgent:
	case <-ctx.Done():
	}
}
