package route

import (
	"context"
	"time"
)

// MaxBatch is the most users or records of one round trip.
const MaxBatch = 500

// Self is who writes to a table.
type Self struct {
	Node        string // letters, digits, '.', '-' and '_'; at most 64
	Incarnation uint64
	Directory   string        // see [Lease]
	TTL         time.Duration // of the records; see [Record.Expiry]
	// ExclusivePlatform lets a user have one session per platform instead of one per device. Platform 0 is exempt.
	ExclusivePlatform bool
}

// Key names a record of this node.
func (s *Self) Key(user, device string, conn uint64) Key {
	return Key{user, device, conn, s.Node, s.Incarnation}
}

// Outcome is what became of a registration.
type Outcome uint8

const (
	Failed            Outcome = iota // nobody knows; see the error
	Created                          // there was no record
	Kept                             // the record was this connection's already
	TookOver                         // an older record was replaced, and its node told if it lives
	RefusedSuperseded                // the table has a newer connection of the same process
	RefusedDisplaced                 // the table has a later connection of another process
)

// Refused returns how the session has lost its place, or 0.
func (o Outcome) Refused() Verdict {
	switch o {
	case RefusedSuperseded:
		return Superseded
	case RefusedDisplaced:
		return Displaced
	default:
		return 0
	}
}

// Freshness is what a refresh found.
type Freshness uint8

const (
	Unrefreshed Freshness = iota // nobody knows; see the error
	Ours                         // the record was this connection's and is fresh
	TakenOver                    // the record is another connection's, newer or older
	Missing                      // there is no record
)

// Lookup is what the table has of some users. Its times agree with Now, which the servers that have the records told
// together with them.
type Lookup struct {
	Now         time.Time
	Records     []Record    // unexpired
	Generations Generations // of the buckets that were asked
}

// Scanned is one step of a walk over the whole table.
type Scanned struct {
	Now     time.Time
	Records []Record // expired ones too
	Next    string   // where the next step begins, "" = the walk is done
	Size    int      // about how many users the table has
}

// Notice is what another node has to say to this incarnation of this one.
type Notice struct {
	ConnID  uint64  // this connection has lost its place …
	Verdict Verdict // … like this
	Asked   []Key   // or, if not empty: does this node still hold these?
}

// Table is the online table as one node sees it. Its methods wait for a bounded time and may be called from any
// goroutine that may wait, never on an event loop. What several nodes write at once is settled by the table.
//
// A method that takes a batch of at most MaxBatch answers each element, in order; it returns an error if any element failed, the
// first one. Whether a failed write was applied is unknown; each may be repeated. A write that its caller has given up
// is not applied later.
type Table interface {
	// Register puts sessions of this node into the table, unless it has newer ones.
	Register(ctx context.Context, batch []Session) ([]Outcome, error)
	// Remove removes records, if they still are those of the connections named. It reports which were there.
	Remove(ctx context.Context, batch []Key) ([]bool, error)
	// Refresh prolongs records of this node and sets their suspect flags. It never brings one back.
	Refresh(ctx context.Context, batch []Session) ([]Freshness, error)

	// Lookup returns the records of at most MaxBatch users in one round trip.
	Lookup(ctx context.Context, users []string) (Lookup, error)
	// Scan walks over the table; the first step begins at "". What is there all the time is seen at least once.
	Scan(ctx context.Context, at string) (Scanned, error)
	// Generations returns the generation of every bucket and draws those that are missing.
	Generations(ctx context.Context) (Generations, error)

	// Renew takes or renews this node's lease, and reports whether it was held until now. The error is [ErrNodeTaken]
	// if the id belongs to another.
	Renew(ctx context.Context, lease Lease, ttl time.Duration) (held bool, err error)
	// Release says goodbye: from now on no record of this incarnation counts.
	Release(ctx context.Context) error
	// Leases returns what is known of all nodes.
	Leases(ctx context.Context) (Leases, error)

	// Notices calls f with what other nodes tell this incarnation of this one until ctx ends or the line breaks, and then
	// returns an error. It calls ready when it listens. What was told before is lost.
	Notices(ctx context.Context, ready func(), f func(Notice)) error
	// Ask asks the one incarnation of a node that all the keys name whether it holds their connections. The question
	// may be lost.
	Ask(ctx context.Context, batch []Key) error

	// Advice is what an operator should change about the table, because it may lose records as it is set up; "" = nothing.
	Advice(ctx context.Context) (string, error)
	// Connections is the number of connections that were made for writing. When it moves, the table may be another one
	// than before, with less in it. It does not wait.
	Connections() uint64
	// Close gives up the connections. It is idempotent.
	Close() error
}
