package route

import (
	"context"
	"slices"
	"time"
)

// walkPatience is how long the host may take for one part of a walk until it is asked again.
const walkPatience = 10 * time.Second

// reconcile is a pass over this node's sessions that brings into the table what is missing there. It is started by a
// probe, and then every session has to be found or written before the generations go into the lease, or by the clock.
// Owned by the Registrar's goroutine.
type reconcile struct {
	started     bool        // since the last doubt, a probe has gone through
	walking     bool        // a pass is under way
	generations Generations // read by the probe, before the first session was looked at
	begun       time.Time   // or the moment of a doubt since then
	notBefore   time.Time   // no other probe until then

	cursor   uint64
	waiting  bool   // for the host
	ended    bool   // the last session was listed …
	mark     uint64 // … and what was found until then is written when pending has come to this place
	sessions []Session
	next     time.Time // pace; while waiting, the end of patience
}

// start begins a pass after a probe.
func (c *reconcile) start(now time.Time, g Generations) {
	*c = reconcile{started: true, walking: true, generations: g, begun: now, notBefore: c.notBefore, next: now}
}

// listed takes a part of the walk; one that was not asked for, or too late, is ignored.
func (c *reconcile) listed(cursor uint64, sessions []Session, next uint64) {
	if !c.walking || !c.waiting || cursor != c.cursor {
		return
	}
	c.waiting, c.sessions, c.cursor, c.ended = false, sessions, next, next == 0
	c.next = c.begun // at once; compare sets the pace
}

// told takes what a loop has said of a session since it listed it: that is the later word.
func (c *reconcile) told(kind eventKind, s Session) {
	i := slices.IndexFunc(c.sessions, func(listed Session) bool { return listed.ConnID == s.ConnID })
	switch {
	case i < 0:
	case kind == removed:
		c.sessions = slices.Delete(c.sessions, i, i+1)
	default:
		c.sessions[i] = s
	}
}

// due is when reconcileStep has something to do by the clock.
func (c *reconcile) due(r *Registrar) time.Time {
	switch {
	case !c.walking && r.breaker.Trusted():
		return r.reconcileAt
	case !c.walking || c.ended && len(c.sessions) == 0:
		return c.begun.Add(r.opts.Settle)
	default:
		return c.next
	}
}

// reconcileStep does one batch.
func (r *Registrar) reconcileStep(ctx context.Context, now time.Time) bool {
	c := &r.rec
	switch {
	case !c.walking && now.Before(r.reconcileAt):
		return !r.breaker.Trusted() && r.conclude(ctx, now)
	case !c.walking:
		c.walking, c.begun, c.next, c.cursor, c.ended, c.waiting = true, now, now, 0, false, false
		return true
	case len(c.sessions) > 0:
		r.compare(ctx, c.sessions)
		c.sessions = nil
		c.mark = r.pending.end()
		return true
	case c.ended:
		return r.conclude(ctx, now)
	case now.Before(c.next) || len(r.pending.conns) > r.opts.Queue/2:
		return false
	default:
		c.waiting = true
		c.next = now.Add(walkPatience)
		cursor := c.cursor
		r.host.Walk(cursor, min(MaxBatch, r.opts.Queue/2), func(sessions []Session, next uint64) {
			r.inbox.post(event{kind: walked, cursor: cursor, sessions: sessions, next: next})
		})
		return true
	}
}

// compare looks up sessions of this node and queues what the table lacks. What waits already is not missing.
func (r *Registrar) compare(ctx context.Context, sessions []Session) {
	r.rec.next = r.now().Add(time.Duration(len(sessions)) * time.Second / time.Duration(r.opts.Pace))
	users := make([]string, 0, len(sessions))
	for i := range sessions {
		users = append(users, sessions[i].User)
	}
	l, err := r.table.Lookup(ctx, unique(users))
	if err != nil {
		r.errored("look up sessions of this node", err)
		return
	}
	type place struct{ user, device string }
	there := make(map[place]*Record, len(l.Records))
	for i := range l.Records {
		there[place{l.Records[i].User, l.Records[i].Device}] = &l.Records[i]
	}
	missing := false
	for i := range sessions {
		s := &sessions[i]
		rec := there[place{s.User, s.Device}]
		switch {
		case r.pending.has(s.ConnID):
		case rec == nil || rec.Key() != r.opts.Self.Key(s.User, s.Device, s.ConnID):
			missing = missing || rec == nil
			r.queue(work{op: opRegister, repair: true, at: r.now(), session: *s})
		case rec.Expiry.Sub(l.Now) < r.opts.Self.TTL/3 || rec.Suspect != s.Suspect:
			r.queue(work{op: opRefresh, at: r.now(), session: *s})
		}
	}
	if missing && r.breaker.Trusted() {
		r.doubt("a session was missing")
	}
}

// conclude ends a pass when what it found is written. After a doubt, this is where the table is trusted again: if
// nothing came up since the probe, others have had time to find out what this node has, and no registration is late. If
// that was the only doubt, there is no pass to end.
func (r *Registrar) conclude(ctx context.Context, now time.Time) bool {
	c := &r.rec
	if r.pending.begin < c.mark {
		return false
	}
	if r.breaker.Trusted() {
		r.passed(now)
		return true
	}
	if now.Before(c.begun.Add(r.opts.Settle)) || r.pending.late(r.now().Add(-lateAfter/2)) {
		return false
	}
	generations, err := r.table.Generations(ctx)
	if err != nil {
		r.errored("read the generations", err)
		return true
	}
	if generations != c.generations {
		r.doubt("a generation has changed")
		return true
	}
	r.carried = generations
	held, ok := r.take(ctx)
	if !ok {
		return true
	}
	if !held {
		r.doubt("the lease was lost")
		return true
	}
	if r.watchConnections(); r.rec.started {
		r.passed(now)
		r.happen(Reconciled)
	}
	return true
}

func (r *Registrar) passed(now time.Time) {
	if !r.rec.walking {
		return
	}
	r.rec.walking = false
	r.reconcileAt = now.Add(r.jitter())
	r.counters.Reconciles.Add(1)
}
