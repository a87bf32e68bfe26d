package route

import (
	"sync/atomic"
	"time"
)

// Counters is what a Registrar counts, for whoever exports it. All of it may be read from any goroutine.
type Counters struct {
	Hits, Misses, Unknowns atomic.Uint64 // users looked up: online, offline, unknown

	Registered atomic.Uint64 // records written
	Removed    atomic.Uint64 // records removed, of connections that ended
	Refreshed  atomic.Uint64 // records prolonged
	Displaced  atomic.Uint64 // sessions of this node that lost their place to another node's
	Orphans    atomic.Uint64 // records removed that no live session stood behind
	Repaired   atomic.Uint64 // sessions that reconcile found missing in the table
	Expired    atomic.Uint64 // records removed that had outlived their time
	Errors     atomic.Uint64 // calls of the table that failed
	Doubts     atomic.Uint64 // times the table might have lost something without an error
	Reconciles atomic.Uint64 // passes over this node's sessions
	Scans      atomic.Uint64 // passes over the table

	// Events that found a queue full. Reconcile makes up for the first, the rolling refresh for the second, the scan
	// for the third, the next scan for the last: a question about a batch of records.
	LostRegistered, LostRefreshed, LostRemoved, LostAsked atomic.Uint64

	refreshLag atomic.Int64
	queued     atomic.Int64 // in pending
	leased     atomic.Int64 // nanoseconds since the start, of the last renewal
	state      atomic.Uint32
}

// RefreshLag is how long the latest refresh waited before it was written.
func (c *Counters) RefreshLag() time.Duration { return time.Duration(c.refreshLag.Load()) }

// State is the breaker's.
func (c *Counters) State() State { return State(c.state.Load()) }
