package route

import "time"

// standing is what a record is worth by the node it names.
type standing uint8

const (
	standsLive      standing = iota // its node lives
	standsDead                      // its process is proven dead, or gone for so long that it is taken for dead
	standsDoubtful                  // its node may live, cut off from the table
	standsForgotten                 // dead, by the clock alone: its node has not been seen for too long
)

// roster is what this node knows of all nodes: what the table told last, and what it told before, for a table that
// was emptied forgets nodes that live. `now` is the node's own clock.
type roster struct {
	self      Self
	patience  time.Duration          // with a node that has lapsed: four leases of absence
	read      time.Time              // when the leases that were read last were asked for
	nodes     map[string]*peer       // but this one
	strangers map[stranger]time.Time // named by records only → first met
}

// peer is what is known of another node.
type peer struct {
	incarnation uint64    // the last one
	seen        time.Time // last renewed, or last read as live, moved on by what was not looked at since
	released    bool
	until       time.Time // the lease lapses
	lease       Lease     // the last one that was read
}

type stranger struct {
	node        string
	incarnation uint64
}

func newRoster(self Self, patience time.Duration) roster {
	return roster{self: self, patience: patience, nodes: make(map[string]*peer), strangers: make(map[stranger]time.Time)}
}

// observe takes leases that were asked for at a moment and have arrived since: what is left of a lease is counted from
// that moment, so a node never counts for longer than the table says. Look-ups ask for them too, so answers overtake one
// another; one that was asked for before another that has been taken says nothing new.
func (r *roster) observe(l Leases, asked time.Time) {
	if asked.Before(r.read) {
		return
	}
	r.look(asked)
	for i := range l.Known {
		s := &l.Known[i]
		p := r.peer(s.Node, s.Incarnation)
		p.saw(asked.Add(-s.Age))
		if p.released = s.Released; s.Released {
			p.until = time.Time{}
		}
	}
	for i := range l.Live {
		lease := &l.Live[i]
		p := r.peer(lease.Node, lease.Incarnation)
		p.saw(asked)
		p.lease, p.until, p.released = *lease, asked.Add(lease.Left), false
	}
	delete(r.nodes, r.self.Node)
}

// look notes that the leases were read. Longer than a lease without a reading, because the table was away or this node stood
// still, proves nothing about others: they could not be seen.
func (r *roster) look(asked time.Time) {
	before := r.read
	r.read = asked
	blind := asked.Sub(before) - r.patience/4
	if before.IsZero() || blind <= 0 {
		return
	}
	for _, p := range r.nodes {
		if before.Sub(p.seen) < r.patience {
			p.seen = p.seen.Add(blind)
		}
	}
	for who, met := range r.strangers {
		if before.Sub(met) < r.patience {
			r.strangers[who] = met.Add(blind)
		}
	}
}

// absent is how long a node was looked for in vain.
func (r *roster) absent(p *peer, now time.Time) time.Duration {
	if last := r.read.Add(r.patience / 4); last.Before(now) {
		now = last
	}
	return now.Sub(p.seen)
}

// peer returns what is known of a node, which the table says has this incarnation.
func (r *roster) peer(node string, incarnation uint64) *peer {
	p := r.nodes[node]
	if p == nil || p.incarnation != incarnation {
		p = &peer{incarnation: incarnation}
		r.nodes[node] = p
	}
	return p
}

func (p *peer) saw(at time.Time) {
	if p.seen.Before(at) {
		p.seen = at
	}
}

// standing judges a record's (node, incarnation). If this incarnation is not known, the leases must have been read
// since the record was: a node takes its lease before it registers anything, so one that has another is of the past.
func (r *roster) standing(node string, incarnation uint64, now time.Time) standing {
	if node == r.self.Node {
		if incarnation == r.self.Incarnation {
			return standsLive
		}
		return standsDead
	}
	p := r.nodes[node]
	if p == nil {
		who := stranger{node, incarnation}
		if _, met := r.strangers[who]; !met {
			r.strangers[who] = now
		}
		p = &peer{incarnation: incarnation, seen: r.strangers[who]}
	}
	switch {
	case p.incarnation != incarnation || p.released:
		return standsDead
	case now.Before(p.until):
		return standsLive
	case r.absent(p, now) < r.patience:
		return standsDoubtful
	default:
		return standsForgotten
	}
}

// knows reports whether leases that were read have named this incarnation.
func (r *roster) knows(node string, incarnation uint64) bool {
	p := r.nodes[node]
	return node == r.self.Node || p != nil && p.incarnation == incarnation
}

// evidence returns, for each bucket, the generation under which every node that may have sessions says to have
// registered them all, this one by carried; 0 = there is none. A node that has lapsed a moment ago may have sessions
// that never came into the table.
func (r *roster) evidence(carried Generations, now time.Time) Generations {
	for _, p := range r.nodes {
		switch {
		case p.released:
		case now.Before(p.until):
			for b := range carried {
				if carried[b] != p.lease.Generations[b] {
					carried[b] = 0
				}
			}
		case r.absent(p, now) < r.patience:
			return Generations{}
		}
	}
	return carried
}

// lapsed reports whether a node has become one that is taken for dead between two readings.
func (r *roster) lapsed(since, now time.Time) bool {
	for _, p := range r.nodes {
		if at := p.seen.Add(r.patience); !p.released && !now.Before(p.until) && at.After(since) && !at.After(now) {
			return true
		}
	}
	return false
}

// elected reports whether this node is the one that scans: the first by name of those that live.
func (r *roster) elected(now time.Time) bool {
	for node, p := range r.nodes {
		if node < r.self.Node && now.Before(p.until) {
			return false
		}
	}
	return true
}

// foreign reports whether a live node has a store of another history, and names one that has.
func (r *roster) foreign(epoch string, now time.Time) (node string, seen bool) {
	for name, p := range r.nodes {
		if now.Before(p.until) && p.lease.Epoch != epoch {
			return name, true
		}
	}
	return "", false
}

// longest returns the largest time to live that is in force.
func (r *roster) longest(now time.Time) time.Duration {
	ttl := r.self.TTL
	for _, p := range r.nodes {
		if now.Before(p.until) {
			ttl = max(ttl, p.lease.TTL)
		}
	}
	return ttl
}

// forget drops nodes that have been gone for a day.
func (r *roster) forget(now time.Time) {
	for node, p := range r.nodes {
		if now.Sub(p.seen) > 24*time.Hour {
			delete(r.nodes, node)
		}
	}
	for who, met := range r.strangers {
		if now.Sub(met) > 24*time.Hour {
			delete(r.strangers, who)
		}
	}
}
