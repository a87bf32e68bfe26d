package server

import (
	"net"

	"lifeline/server/liveness"
	"lifeline/server/session"
)

// Conn is one TCP connection as its event loop sees it; gnet.Conn is one as it stands, so a connection costs no adapter.
// All methods are called on the loop. A failed Write has closed the connection: Shard.Closed has run before it returns.
type Conn interface {
	Write(p []byte) (int, error)
	OutboundBuffered() int
	RemoteAddr() net.Addr
}

// Loop is what a shard asks of the event loop it lives on.
type Loop interface {
	// Wake has Shard.Run called on the loop soon, or reports that it cannot. Any goroutine; it never blocks.
	Wake() bool
	// Close closes a connection at once: Shard.Closed has run before it returns. On the loop.
	Close(Conn)
	// ShutWrite ends the sending side, so that the peer reads an end of file after what was written. On the loop.
	ShutWrite(Conn)
	// PathInfo asks the kernel about a connection, which takes system calls: on suspicion only. On the loop.
	PathInfo(Conn) liveness.PathInfo
}

// conns holds the Conn of each slot. Owned by the loop.
type conns struct{ bySlot []Conn }

func (c *conns) set(s *session.Session, conn Conn) {
	slot := int(s.ID.Slot())
	for slot >= len(c.bySlot) {
		c.bySlot = append(c.bySlot, nil)
	}
	c.bySlot[slot] = conn
}

func (c *conns) of(s *session.Session) Conn { return c.bySlot[s.ID.Slot()] }

func (c *conns) drop(s *session.Session) { c.bySlot[s.ID.Slot()] = nil }
