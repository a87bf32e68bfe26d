package route

import (
	"context"
	"errors"
	"slices"
	"time"
)

// ErrDegraded says that the table was not asked because the last call of it has failed.
var ErrDegraded = errors.New("the online table is given up for the moment")

// Found is who is online, as far as the table can tell. It is the answer for other nodes' sessions: for its own a node
// asks itself first, and believes itself.
type Found struct {
	Now     time.Time
	TTL     time.Duration // the largest in force
	Records []Record      // that count: unexpired and under a live lease
	Own     []Record      // of the node that asked: Elsewhere takes them out of Records
	Err     error         // why it could not be asked

	unproven map[string]bool
}

// Proves reports whether Records has all there is of the user.
func (f *Found) Proves(user string) bool { return f.Err == nil && !f.unproven[user] }

// Live reports whether a record of Records makes its user online.
func (f *Found) Live(r *Record) bool { return !r.Closed && f.Now.Sub(r.LastSeen) <= f.TTL }

// Route splits members into online, offline and unknown; see [RouteWithUnknown].
func (f *Found) Route(members []string) (online, offline, unknown []string) {
	return RouteWithUnknown(members, f.Records, f.Proves, f.Now, f.TTL)
}

// States says what is known of a user's devices, and of those in the records.
func (f *Found) States(user string, devices []string) map[string]DeviceState {
	states := make(map[string]DeviceState, len(devices))
	for _, d := range devices {
		if states[d] = DeviceUnknown; f.Proves(user) {
			states[d] = DeviceNone
		}
	}
	for i := range f.Records {
		if r := &f.Records[i]; r.User == user && f.Live(r) {
			if states[r.Device] = DeviceActive; r.Suspect {
				states[r.Device] = DeviceSuspect
			}
		}
	}
	return states
}

// Find looks up users. From any goroutine that may wait: it takes one round trip for each MaxBatch users, none from the
// moment that a call has failed until one goes through again.
func (r *Registrar) Find(ctx context.Context, users []string) Found {
	users = unique(users)
	f := Found{TTL: r.opts.Self.TTL, unproven: make(map[string]bool)}
	for batch := range slices.Chunk(users, MaxBatch) {
		if f.Err = r.find(ctx, batch, &f); f.Err != nil {
			break
		}
	}
	if f.Err != nil {
		f.Records = nil
	}
	r.count(&f, users)
	return f
}

// Elsewhere is [Registrar.Find] for a node that asks itself about its own sessions: records of its own are set apart. One
// that it has no session for is only not removed yet, or its session has moved on since the table was read.
func (r *Registrar) Elsewhere(ctx context.Context, users []string) Found {
	f := r.Find(ctx, users)
	f.Records = slices.DeleteFunc(f.Records, func(rec Record) bool {
		own := rec.Node == r.opts.Self.Node
		if own {
			f.Own = append(f.Own, rec)
		}
		return own
	})
	return f
}

// find adds the answer for one batch. The evidence is taken before the table is asked: what a node says afterwards
// proves nothing of a record that was not there before.
func (r *Registrar) find(ctx context.Context, users []string, f *Found) error {
	v := r.view.Load()
	if !v.usable() {
		return ErrDegraded
	}
	r.mu.Lock()
	evidence := r.roster.evidence(v.carried, r.now())
	r.mu.Unlock()
	l, err := r.table.Lookup(ctx, users)
	if err == nil {
		err = r.acquaint(ctx, l.Records)
	}
	if err != nil {
		if ctx.Err() == nil {
			r.readFailed.Store(true)
			r.inbox.poke()
		}
		return err
	}
	undisturbed := !r.inbox.lost[registered].Load() && r.view.Load() == v && v.state == Healthy
	for _, user := range users {
		b := Bucket(user)
		if g := l.Generations[b]; !undisturbed || g == 0 || g != evidence[b] {
			f.unproven[user] = true
		}
		if undisturbed && l.Generations[b] != v.carried[b] {
			r.stale.Store(true)
			r.inbox.poke()
		}
	}
	r.weigh(&l, f)
	return nil
}

// weigh adds the records that count. A user with a doubtful one may have a session that is not in the table any more.
func (r *Registrar) weigh(l *Lookup, f *Found) {
	f.Now = l.Now
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	f.TTL = r.roster.longest(now)
	for _, rec := range l.Records {
		switch r.roster.standing(rec.Node, rec.Incarnation, now) {
		case standsLive:
			f.Records = append(f.Records, rec)
		case standsDoubtful:
			f.unproven[rec.User] = true
		}
	}
}

// acquaint reads the leases if a record names an incarnation that is not known yet.
func (r *Registrar) acquaint(ctx context.Context, records []Record) error {
	if r.knowsAll(records) {
		return nil
	}
	asked := r.now()
	leases, err := r.table.Leases(ctx)
	if err != nil {
		return err
	}
	r.observe(leases, asked)
	return nil
}

func (r *Registrar) knowsAll(records []Record) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range records {
		if !r.roster.knows(records[i].Node, records[i].Incarnation) {
			return false
		}
	}
	return true
}

func (r *Registrar) count(f *Found, users []string) {
	online, offline, unknown := f.Route(users)
	r.counters.Hits.Add(uint64(len(online)))
	r.counters.Misses.Add(uint64(len(offline)))
	r.counters.Unknowns.Add(uint64(len(unknown)))
}

// unique returns the ids sorted, without empty ones and doubles.
func unique(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) > 0 && ids[0] == "" {
		ids = ids[1:]
	}
	return ids
}
