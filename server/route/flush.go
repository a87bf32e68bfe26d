package route

import (
	"context"
	"time"
)

// gather is how long records wait for others after a batch: many in one round trip cost a table and a node less than half.
const gather = 20 * time.Millisecond

// lateAfter is how long a registration may wait behind others until this node takes back its word that all its sessions
// are in the table. It gives it again when none waits for half as long.
const lateAfter = time.Second

// flush writes the oldest batch of what waits.
func (r *Registrar) flush(ctx context.Context, now time.Time) bool {
	if n := len(r.pending.conns); n > 0 && n < MaxBatch && now.Before(r.flushAt) {
		return false
	}
	batch := r.pending.take(MaxBatch)
	if len(batch) == 0 {
		return false
	}
	r.flushAt = now.Add(gather)
	var parts [opRemove + 1][]*work
	for _, w := range batch {
		parts[w.op] = append(parts[w.op], w)
	}
	for o, write := range [...]func(context.Context, []*work) error{opRemove: r.remove, opRegister: r.register, opRefresh: r.refresh} {
		if len(parts[o]) == 0 {
			continue
		}
		if !r.ready() {
			r.again(parts[o])
			continue
		}
		if err := write(ctx, parts[o]); err != nil {
			r.errored(verbs[o], err)
		}
	}
	r.watchConnections()
	r.counters.queued.Store(int64(len(r.pending.conns)))
	if r.ready() && r.breaker.Trusted() && r.pending.late(r.now().Add(-lateAfter)) {
		r.withdraw()
	}
	return true
}

var verbs = [...]string{opRefresh: "refresh", opRegister: "register", opRemove: "remove"}

// again queues work that was not done. If the table is given up meanwhile, only removals are worth keeping.
func (r *Registrar) again(batch []*work) {
	for _, w := range batch {
		if r.breaker.State != Degraded || w.op == opRemove {
			r.pending.put(w)
		}
	}
}

func sessions(batch []*work) []Session {
	s := make([]Session, len(batch))
	for i, w := range batch {
		w.tried = true
		s[i] = w.session
	}
	return s
}

func (r *Registrar) register(ctx context.Context, batch []*work) error {
	outcomes, err := r.table.Register(ctx, sessions(batch))
	for i, o := range outcomes {
		w := batch[i]
		if o == Failed {
			r.pending.put(w)
			continue
		}
		if v := o.Refused(); v != 0 {
			r.counters.Displaced.Add(1)
			r.host.Displaced(w.session.ConnID, v)
			continue
		}
		r.counters.Registered.Add(1)
		if w.repair && o != Kept {
			r.counters.Repaired.Add(1)
		}
	}
	return err
}

func (r *Registrar) remove(ctx context.Context, batch []*work) error {
	keys := make([]Key, len(batch))
	for i, w := range batch {
		keys[i] = r.opts.Self.Key(w.session.User, w.session.Device, w.session.ConnID)
	}
	removed, err := r.table.Remove(ctx, keys)
	for i, there := range removed {
		switch {
		case there:
			r.counters.Removed.Add(1)
		case err != nil:
			batch[i].tried = true
			r.pending.put(batch[i])
		}
	}
	return err
}

// refresh rewrites records. One that is not there, or is another's, is a matter for register to judge.
func (r *Registrar) refresh(ctx context.Context, batch []*work) error {
	found, err := r.table.Refresh(ctx, sessions(batch))
	for i, f := range found {
		w := batch[i]
		switch f {
		case Ours:
			r.counters.Refreshed.Add(1)
			r.counters.refreshLag.Store(int64(r.now().Sub(w.at)))
		case Unrefreshed:
			r.pending.put(w)
		default:
			w.op, w.repair = opRegister, true
			r.pending.put(w)
			r.rec.mark = r.pending.end() // a pass that is under way took it for waiting already
		}
	}
	return err
}
