package route

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// maxQuestions bounds the questions to the host that wait for an answer. More are dropped: the next scan asks again.
const maxQuestions = 16

// scan is a pass over the whole table that finds records nobody stands behind. One node at a time makes it, and asks the
// owners. Owned by the Registrar's goroutine.
type scan struct {
	running bool
	at      string
	next    time.Time
}

// stopScan ends a pass; it is made again when the table has had time to recover from whatever broke it off.
func (r *Registrar) stopScan() {
	if r.scan.running {
		r.scanAt = r.now().Add(scanAgain * r.opts.Lease)
	}
	r.scan = scan{}
}

// scanAgain is how many leases pass before a scan that was broken off is made again.
const scanAgain = 4

// scanDue is when scanStep has something to do by the clock.
func (r *Registrar) scanDue() time.Time {
	switch {
	case !r.breaker.Trusted():
		return r.now().Add(r.poll)
	case r.scan.running:
		return r.scan.next
	default:
		return r.scanAt
	}
}

// scanStep reads one part of the table and deals with its records.
func (r *Registrar) scanStep(ctx context.Context, now time.Time) bool {
	if now.Before(r.scanDue()) {
		return false
	}
	if !r.scan.running {
		r.scanAt = now.Add(r.jitter())
		if !r.elected(now) {
			return true
		}
		r.scan.running = true
	}
	s, err := r.table.Scan(ctx, r.scan.at)
	if err != nil {
		r.errored("scan", err)
		return true
	}
	if err := r.acquaint(ctx, s.Records); err != nil {
		r.errored("read the leases", err)
		return true
	}
	if err := r.judge(ctx, s); err != nil {
		r.errored("deal with what the scan found", err)
		return true
	}
	r.scan = scan{running: s.Next != "", at: s.Next, next: now.Add(r.scanPause(s.Size, len(s.Records)))}
	if !r.scan.running {
		r.counters.Scans.Add(1)
	}
	return true
}

// scanPause spreads a pass over half the period, without exceeding the pace.
func (r *Registrar) scanPause(size, records int) time.Duration {
	steps := size/MaxBatch + 1
	return max(r.opts.ReconcileEvery/2/time.Duration(steps), time.Duration(records)*time.Second/time.Duration(r.opts.Pace))
}

func (r *Registrar) elected(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roster.elected(now)
}

// judge removes records of the dead and asks the living about theirs. An expired record of a living node is removed
// too: if its session lives, the next refresh brings it back.
func (r *Registrar) judge(ctx context.Context, s Scanned) error {
	var orphans, expired []Key
	living := make(map[stranger][]Key)
	now := r.now()
	r.mu.Lock()
	for i := range s.Records {
		rec := &s.Records[i]
		standing := r.roster.standing(rec.Node, rec.Incarnation, now)
		switch {
		case standing == standsDead || standing == standsForgotten:
			orphans = append(orphans, rec.Key())
		case standing == standsDoubtful:
		case s.Now.After(rec.Expiry):
			expired = append(expired, rec.Key())
		default:
			owner := stranger{rec.Node, rec.Incarnation}
			living[owner] = append(living[owner], rec.Key())
		}
	}
	r.mu.Unlock()
	if err := r.discard(ctx, orphans, &r.counters.Orphans); err != nil {
		return err
	}
	if err := r.discard(ctx, expired, &r.counters.Expired); err != nil {
		return err
	}
	for owner, keys := range living {
		if owner.node == r.opts.Self.Node {
			r.examine(keys)
			continue
		}
		for batch := range slices.Chunk(keys, MaxBatch) {
			if err := r.table.Ask(ctx, batch); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Registrar) discard(ctx context.Context, keys []Key, counter *atomic.Uint64) error {
	for batch := range slices.Chunk(keys, MaxBatch) {
		removed, err := r.table.Remove(ctx, batch)
		for _, there := range removed {
			if there {
				counter.Add(1)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// examine asks the host whether it holds the connections that records name as this node's.
func (r *Registrar) examine(keys []Key) {
	keys = slices.DeleteFunc(keys, func(k Key) bool {
		return k.Node != r.opts.Self.Node || k.Incarnation != r.opts.Self.Incarnation
	})
	if len(keys) == 0 {
		return
	}
	if r.questions >= maxQuestions || len(r.orphans) > MaxBatch {
		r.counters.LostAsked.Add(1)
		return
	}
	conns := make([]uint64, len(keys))
	for i := range keys {
		conns[i] = keys[i].ConnID
	}
	r.questions++
	r.host.Holds(conns, func(holds []bool) { r.inbox.post(event{kind: held, keys: keys, held: holds}) })
}

// examined sorts out the connections that have ended. A ConnID is never used again, so one that is not held now will
// never be. One whose removal waits is no orphan.
func (r *Registrar) examined(keys []Key, holds []bool) {
	r.questions--
	for i, holds := range holds {
		if !holds && !r.pending.has(keys[i].ConnID) {
			r.orphans = append(r.orphans, keys[i])
		}
	}
}

// bury removes records that were found to have no session.
func (r *Registrar) bury(ctx context.Context, _ time.Time) bool {
	if len(r.orphans) == 0 {
		return false
	}
	batch := r.orphans[:min(len(r.orphans), MaxBatch)]
	if err := r.discard(ctx, batch, &r.counters.Orphans); err != nil {
		r.errored("remove orphans", err)
		return true
	}
	r.orphans = r.orphans[len(batch):]
	return true
}
