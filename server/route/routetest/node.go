package routetest

import (
	"sync"
	"time"

	"lifeline/server/route"
)

// Node is a node without sockets: the sessions of a [route.Registrar]. Its methods may be called from any goroutine. It
// settles two sessions of one device on this node as a real node does, and one of two nodes as the table says.
type Node struct {
	// Now is the clock that sessions are stamped with. Set before use; if nil, time.Now.
	Now func() time.Time
	// Deliver, if set, is given what would go to the Registrar, in the order of each session; it may hold it back.
	Deliver func(conn uint64, event func())

	mu        sync.Mutex
	registrar *route.Registrar
	slots     []route.Session // by ConnID - 1; a free one has ConnID 0
	devices   map[[2]string]uint64
	order     uint64
	live      int
	lost      map[uint64]route.Verdict
}

// NewNode returns a node without sessions.
func NewNode() *Node {
	return &Node{devices: make(map[[2]string]uint64), lost: make(map[uint64]route.Verdict)}
}

// Bind tells the node its Registrar.
func (n *Node) Bind(r *route.Registrar) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.registrar = r
}

func (n *Node) now() time.Time {
	if n.Now == nil {
		return time.Now()
	}
	return n.Now()
}

func (n *Node) deliver(conn uint64, event func()) {
	if n.Deliver == nil {
		event()
		return
	}
	n.Deliver(conn, event)
}

// Open starts a session of a user's device and returns its ConnID. Instance and attempt are the client's; age is how
// long ago it connected. A session that loses to one that is here already ends at once.
func (n *Node) Open(user, device string, instance, attempt uint64, age time.Duration) uint64 {
	return n.Start(route.Session{User: user, Device: device, Instance: instance, Attempt: attempt}, age)
}

// Start is [Node.Open] for a session with more to say; its ConnID, Order and times are the node's to set.
func (n *Node) Start(s route.Session, age time.Duration) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.order++
	s.ConnID = uint64(len(n.slots) + 1)
	s.Order, s.Seen, s.Started = n.order, n.now(), n.now().Add(-age)
	n.slots = append(n.slots, s)
	n.live++
	registrar := n.registrar
	n.deliver(s.ConnID, func() { registrar.Registered(s) })
	place := [2]string{s.User, s.Device}
	if old := n.devices[place]; old != 0 {
		if o := &n.slots[old-1]; o.Instance == s.Instance && o.Attempt > s.Attempt {
			n.end(s.ConnID, route.Superseded)
			return s.ConnID
		}
		n.end(old, route.Displaced)
	}
	n.devices[place] = s.ConnID
	return s.ConnID
}

// Close ends a session, if it is there.
func (n *Node) Close(conn uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.end(conn, 0)
}

func (n *Node) end(conn uint64, v route.Verdict) {
	s := &n.slots[conn-1]
	if s.ConnID == 0 {
		return
	}
	if v != 0 {
		n.lost[conn] = v
	}
	user, device := s.User, s.Device
	if n.devices[[2]string{user, device}] == conn {
		delete(n.devices, [2]string{user, device})
	}
	*s = route.Session{}
	n.live--
	registrar := n.registrar
	n.deliver(conn, func() { registrar.Removed(user, device, conn) })
}

// Due hands a session in as due, with what its line is like.
func (n *Node) Due(conn uint64, suspect bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &n.slots[conn-1]
	if s.ConnID == 0 {
		return
	}
	s.Suspect = suspect
	if !suspect {
		s.Seen = n.now()
	}
	registrar, now := n.registrar, *s
	n.deliver(conn, func() { registrar.Refreshed(now) })
}

// Heard notes that bytes have come in for a session. Nobody is told.
func (n *Node) Heard(conn uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := &n.slots[conn-1]; s.ConnID != 0 {
		s.Seen = n.now()
	}
}

// Live is the number of sessions.
func (n *Node) Live() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.live
}

// Conn returns the session of a user's device, 0 = none.
func (n *Node) Conn(user, device string) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.devices[[2]string{user, device}]
}

// Lost returns how a session has lost its place, 0 = it has not.
func (n *Node) Lost(conn uint64) route.Verdict {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost[conn]
}

// Walk implements [route.Host].
func (n *Node) Walk(cursor uint64, most int, reply func([]route.Session, uint64)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []route.Session
	for ; cursor < uint64(len(n.slots)); cursor++ {
		if len(found) == most {
			reply(found, cursor)
			return
		}
		if n.slots[cursor].ConnID != 0 {
			found = append(found, n.slots[cursor])
		}
	}
	reply(found, 0)
}

// Holds implements [route.Host].
func (n *Node) Holds(conns []uint64, reply func([]bool)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	holds := make([]bool, len(conns))
	for i, conn := range conns {
		holds[i] = conn != 0 && conn <= uint64(len(n.slots)) && n.slots[conn-1].ConnID == conn
	}
	reply(holds)
}

// Displaced implements [route.Host].
func (n *Node) Displaced(conn uint64, v route.Verdict) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if conn != 0 && conn <= uint64(len(n.slots)) {
		n.end(conn, v)
	}
}
