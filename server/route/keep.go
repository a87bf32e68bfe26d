package route

import (
	"context"
	"errors"
	"time"
)

// keep renews the lease and reads those of the others.
func (r *Registrar) keep(ctx context.Context, now time.Time) bool {
	if r.stale.Swap(false) {
		r.doubt("another generation was met")
		return true
	}
	if r.announced.Swap(false) || !now.Before(r.renewAt) {
		r.renew(ctx)
		return true
	}
	if r.readFailed.Swap(false) || !now.Before(r.pollAt) {
		r.look(ctx)
		return true
	}
	return false
}

func (r *Registrar) lease() Lease {
	return Lease{Epoch: r.opts.Epoch, Addresses: r.opts.Addresses, Budget: int(r.budget.Load()),
		State: NodeState(r.nodeState.Load()), Generations: r.carried}
}

// take takes or renews the lease.
func (r *Registrar) take(ctx context.Context) (held, ok bool) {
	held, err := r.table.Renew(ctx, r.lease(), r.opts.Lease)
	if err != nil {
		if errors.Is(err, ErrNodeTaken) && !r.leased {
			r.fatal = err
			return false, false
		}
		r.errored("renew the lease", err)
		return false, false
	}
	now := r.now()
	r.leased = true
	r.renewAt = now.Add(r.opts.Lease / 3)
	r.counters.leased.Store(int64(now.Sub(r.begun)))
	return held, true
}

// renew is the heartbeat of the table's trust: it also finds out that the table was emptied.
func (r *Registrar) renew(ctx context.Context) {
	held, ok := r.take(ctx)
	if !ok {
		return
	}
	if !held {
		r.doubt("the lease was lost")
		return
	}
	generations, err := r.table.Generations(ctx)
	switch {
	case err != nil:
		r.errored("read the generations", err)
	case generations != r.rec.generations:
		r.doubt("a generation has changed")
	default:
		r.watchConnections()
	}
}

// look reads the leases of all nodes.
func (r *Registrar) look(ctx context.Context) {
	if ok, live := r.readLeases(ctx); ok && !live {
		r.doubt("the lease is gone")
	} else if ok {
		r.watchConnections()
	}
}

// readLeases reports whether the leases could be read and whether this node's is live.
func (r *Registrar) readLeases(ctx context.Context) (ok, live bool) {
	asked := r.now()
	r.pollAt = asked.Add(r.poll)
	leases, err := r.table.Leases(ctx)
	if err != nil {
		r.errored("read the leases", err)
		return false, false
	}
	for i := range leases.Live {
		l := &leases.Live[i]
		live = live || l.Node == r.opts.Self.Node && l.Incarnation == r.opts.Self.Incarnation
		r.compareRules(l)
	}
	r.observe(leases, asked)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.roster.lapsed(r.looked, asked) {
		r.scanAt = asked
	}
	r.looked = asked
	return true, live
}

// compareRules says once that another node displaces by another rule: which session of a user ends then depends on where
// the later one is.
func (r *Registrar) compareRules(l *Lease) {
	if l.Node == r.opts.Self.Node || l.ExclusivePlatform == r.opts.Self.ExclusivePlatform || r.unlike {
		return
	}
	r.unlike = true
	r.log.Warn("another node displaces by another rule", "node", l.Node, "do", "give all nodes of the table the same --exclusive")
}

// observe takes leases in. From any goroutine.
func (r *Registrar) observe(l Leases, asked time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.roster.observe(l, asked)
	r.roster.forget(now)
	last, before := int64(0), r.foreigner.Load()
	other, foreign := r.roster.foreign(r.opts.Epoch, now)
	if foreign {
		last = int64(now.Sub(r.begun)) + 1
	}
	r.foreigner.Store(last)
	switch {
	case foreign && before == 0:
		r.log.Warn("another node has a store of its own: this one refuses to store as long as it sees it", "node", other)
	case !foreign && before != 0:
		r.log.Info("no other node has a store of its own any more")
	}
}

// probe finds out whether the table can be read and written, with nothing in the lease that it would have to prove.
// After it everything is to be reconciled.
func (r *Registrar) probe(ctx context.Context) {
	r.rec.notBefore = r.now().Add(suspectPause)
	if !r.knock(ctx) {
		return
	}
	generations, err := r.table.Generations(ctx)
	if err != nil {
		r.errored("read the generations", err)
		return
	}
	r.connections = r.table.Connections()
	r.stale.Store(false)
	r.happen(Probed)
	r.rec.start(r.now(), generations)
	r.advise(ctx)
}

// knock takes the lease and reads those of the others, in this order: of two nodes that start at once, one sees the other.
func (r *Registrar) knock(ctx context.Context) (ok bool) {
	if !r.knocked {
		r.knocked = true
		defer func() {
			if r.fatal == nil {
				close(r.asked)
			}
		}()
	}
	if _, ok = r.take(ctx); ok {
		ok, _ = r.readLeases(ctx)
	}
	return ok
}

// advise says once what an operator should change about the table. One that does not tell is used as it is, and asked again
// after the next doubt: it may only have been slow.
func (r *Registrar) advise(ctx context.Context) {
	if r.advised {
		return
	}
	advice, err := r.table.Advice(ctx)
	r.advised = err == nil
	switch {
	case err != nil && !r.untold:
		r.untold = true
		r.log.Info("the online table does not tell how it is set up", "err", err)
	case advice != "":
		r.log.Warn("the online table may lose routes", "do", advice)
	}
}

// watchConnections doubts when the table is reached by another line than before: it may be another one, with less in
// it, and the same generations.
func (r *Registrar) watchConnections() {
	if n := r.table.Connections(); n != r.connections {
		r.connections = n
		r.doubt("a new connection was made")
	}
}

// errored takes the failure of a call.
func (r *Registrar) errored(what string, err error) {
	r.counters.Errors.Add(1)
	before := r.breaker.State
	r.stop()
	r.happen(Errored)
	if r.breaker.State != before {
		r.log.Warn("the online table failed", "what", what, "err", err, "state", r.breaker.State)
	}
	if r.breaker.State == Degraded {
		r.pending.keepRemovals() // reconcile will find the rest
	}
}

// doubt distrusts the table although no call has failed.
func (r *Registrar) doubt(why string) {
	r.counters.Doubts.Add(1)
	if r.breaker.Trusted() {
		r.log.Info("the online table may lack sessions of this node", "why", why)
	}
	r.stop()
	r.happen(Doubted)
}

// withdraw takes the generations back because sessions wait to be registered. None is lost, so none is looked for, which
// would make those that wait wait longer.
func (r *Registrar) withdraw() {
	r.counters.Doubts.Add(1)
	r.log.Info("the online table may lack sessions of this node", "why", "registrations wait for too long")
	r.carried = Generations{}
	r.renewAt = r.now()
	r.rec.begun = r.renewAt
	r.happen(Doubted)
}

// stop ends what goes on. The generations leave the lease with the next probe, which is due at once; this node's own
// answers stop to rely on them now.
func (r *Registrar) stop() {
	r.rec.started = false
	r.stopScan()
	r.carried = Generations{}
}

func (r *Registrar) happen(e Event) {
	before := r.breaker.State
	r.breaker = r.breaker.Next(e, r.now())
	r.publish()
	if before != r.breaker.State && r.breaker.State == Healthy {
		r.log.Info("the online table has all sessions of this node")
	}
}

func (r *Registrar) publish() {
	r.view.Store(&view{r.breaker.State, r.carried})
	r.counters.state.Store(uint32(r.breaker.State))
}

var ops = [...]op{registered: opRegister, refreshed: opRefresh, removed: opRemove}

// absorb takes what has come.
func (r *Registrar) absorb() {
	for _, e := range r.inbox.take() {
		switch e.kind {
		case registered, refreshed, removed:
			r.rec.told(e.kind, e.session)
			r.queue(work{op: ops[e.kind], at: e.at, session: e.session})
		case walked:
			r.rec.listed(e.cursor, e.sessions, e.next)
		case asked:
			r.examine(e.keys)
		case held:
			r.examined(e.keys, e.held)
		}
	}
	if lost := &r.inbox.lost[registered]; lost.Load() {
		r.doubt("sessions were not queued")
		lost.Store(false) // readers look at it until they see the doubt; what is lost meanwhile is found by the same pass
	}
	if r.inbox.lost[removed].Swap(false) {
		r.scanAt = r.now()
	}
	if r.deaf.Swap(false) {
		r.reconcileAt = r.now()
	}
}

// queue adds work. A table that is given up is told of removals only: reconcile will find the sessions that still live
// when it is back.
func (r *Registrar) queue(w work) {
	if r.breaker.State == Degraded && w.op != opRemove {
		return
	}
	if !r.pending.add(w) {
		switch w.op {
		case opRegister:
			r.counters.LostRegistered.Add(1)
			r.inbox.lost[registered].Store(true)
		case opRefresh:
			r.counters.LostRefreshed.Add(1)
		case opRemove:
			r.counters.LostRemoved.Add(1)
			r.inbox.lost[removed].Store(true)
		}
	}
	r.counters.queued.Store(int64(len(r.pending.conns)))
}

// listen takes notices until ctx ends. Those that came before it listened, at the start or while the line was broken, are
// lost, so what they would have told is looked for.
func (r *Registrar) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = r.table.Notices(ctx, func() { // the writer notices, and logs, a table that is gone
			r.deaf.Store(true)
			r.inbox.poke()
		}, r.notice)
		timer := time.NewTimer(degradedPause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (r *Registrar) notice(n Notice) {
	if len(n.Asked) > 0 {
		if !r.inbox.post(event{kind: asked, keys: n.Asked}) {
			r.counters.LostAsked.Add(1)
		}
		return
	}
	r.counters.Displaced.Add(1)
	r.host.Displaced(n.ConnID, n.Verdict)
}
