package route

import (
	"errors"
	"time"
)

// DefaultLease is how long a node counts after its last renewal. It renews after a third of that. A node that did not say
// goodbye is taken for dead when its lease was not seen for four times that; until then users whom only it may have are
// unknown.
const DefaultLease = 15 * time.Second

// NodeState is what a node says of itself.
type NodeState uint8

const (
	NodeUp       NodeState = iota // takes connections
	NodeDraining                  // sends its clients elsewhere
)

var nodeStates = [...]string{"up", "draining"}

func (s NodeState) String() string { return nodeStates[s] }

// Lease is a node's word that one incarnation of it is alive. A record counts only under a live lease.
type Lease struct {
	Node        string
	Incarnation uint64
	Directory   string // names the data directory, whose lock admits one process at a time
	Epoch       string // of the node's store
	Addresses   []string
	Budget      int // connections it can take
	State       NodeState
	TTL         time.Duration // of the records it writes
	Generations Generations   // those under which it has registered every session, but for log-ins that are under way
	// ExclusivePlatform is what its registrations displace by; see [Self].
	ExclusivePlatform bool

	Left time.Duration // until it lapses; of leases that were read
}

// Sighting is what is known of a node whether its lease is live or not.
type Sighting struct {
	Node        string
	Incarnation uint64        // the last one
	Age         time.Duration // since the last renewal
	Released    bool          // it said goodbye: it holds no sessions
}

// Leases is what the table knew of the nodes at one moment.
type Leases struct {
	Live  []Lease
	Known []Sighting // every node seen in the last day, live or not
}

// ErrNodeTaken says that another live process with another data directory has this node's id.
var ErrNodeTaken = errors.New("another live process with another data directory has this id: give each node its own (--node); if the directory was moved, start again when the lease has lapsed, in 15 s")
