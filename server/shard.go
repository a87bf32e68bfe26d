package server

import (
	"hash/maphash"
	"runtime/debug"
	"sync/atomic"
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
	"lifeline/server/session"
)

// Shard is what one event loop does: it owns the sessions of the connections on that loop. Open, Traffic, Closed and
// Run are called on the loop only; what other goroutines want goes through the mailbox. Nothing here waits.
type Shard struct {
	// Set at construction.
	core  *Core
	index int
	mail  mailbox
	seed  maphash.Seed // of client ids

	// Owned by the loop.
	loop    Loop
	clock   liveness.Clock
	slab    *session.Slab
	arena   *session.Arena
	users   *session.Index
	conns   conns
	bodies  map[uint32]*body  // slot -> frame whose body is arriving
	logins  map[uint32]*login // slot -> Connect that is being answered
	dirty   []session.ConnID  // sessions whose cursor the store has not got yet
	flushed liveness.Time     // when dirty was last flushed
	stages  []stage
	staged  int      // bytes of Pushes and other large frames in stages
	spare   [][]byte // emptied stages
	doomed  []session.ConnID
	depth   int // callbacks on the stack: a failed write calls Closed from inside
	unsent  map[session.ConnID]unsent
	sweep   sweep
	traces  map[session.ConnID]*trace
	proven  int // seconds of silence that the Ping being handled proves
	frames  scratch
	ids     [3 * protocol.MaxIDBytes]byte // scratch of sendCommand

	sessions atomic.Int64 // active, for the gauge
	closing  atomic.Int64 // in state Closing; likewise
	doubts   doubts
}

// scratch are the frames a loop parses into and writes from, one of each, so that none is allocated.
type scratch struct {
	connect protocol.Connect
	connack protocol.Connack
	ping    protocol.Ping
	pong    protocol.Pong
	state   protocol.State
	send    protocol.Send
	sendack protocol.Sendack
	ack     protocol.Ack
	pull    protocol.Pull
	users   protocol.Presence
	reauth  protocol.Reauth
	bye     protocol.Bye
	result  protocol.Result
	err     protocol.Error
	close   protocol.Close
}

func newShard(c *Core, index int) *Shard {
	sh := &Shard{core: c, index: index, seed: maphash.MakeSeed(), slab: session.NewSlab(index), arena: new(session.Arena),
		bodies: make(map[uint32]*body), logins: make(map[uint32]*login), unsent: make(map[session.ConnID]unsent)}
	sh.users = session.NewIndex(sh.slab, sh.arena)
	sh.mail.capacity = c.opts.Lane
	return sh
}

// Bind tells the shard which loop it lives on. On the loop, before its first connection.
func (sh *Shard) Bind(loop Loop) {
	sh.loop = loop
	sh.mail.bind(loop.Wake)
}

// Open takes a new connection. It returns nil when the node is full: then the connection has been told, and the caller
// closes it at once.
func (sh *Shard) Open(conn Conn) *session.Session {
	if !sh.core.admit() {
		sh.turnAway(conn, protocol.CodeTooManyConnections)
		return nil
	}
	s, err := sh.slab.Open()
	if err != nil {
		sh.core.connections.Add(-1)
		sh.turnAway(conn, protocol.CodeMemory)
		sh.core.complain("connections are refused", err)
		return nil
	}
	sh.conns.set(s, conn)
	s.LastIn = sh.clock.Now()
	sh.plan(s).Due = s.LastIn.Add(connectTimeout)
	return s
}

// turnAway writes a Close to a connection that gets no slot [P-6.43]. It is not waited for: where the client's Connect is on
// its way, the kernel's answer to that may reach the client first, and the Close is lost.
func (sh *Shard) turnAway(conn Conn, code protocol.Code) {
	sh.core.meter.closed(code)
	sh.core.meter.framesOut[protocol.TypeClose].Inc()
	f := protocol.Close{Status: code.Status(), Hosts: sh.core.hosts}
	_, _ = conn.Write(f.Append(nil)) // if it fails, the connection is gone, which is what is wanted
}

// connectTimeout is how long a connection has to become a session [P-6.1].
const connectTimeout = 10 * time.Second

// Traffic takes bytes that have arrived; data is valid during the call only. Nothing of it is left behind.
func (sh *Shard) Traffic(s *session.Session, data []byte) {
	sh.depth++
	defer sh.leave(s)
	sh.inbound(s, data)
}

// Closed ends a connection whose socket is gone: err is nil when this side closed it.
func (sh *Shard) Closed(s *session.Session, err error) {
	sh.depth++
	defer sh.leave(nil)
	sh.ended(s, err)
}

// Run takes what the mailbox has got.
func (sh *Shard) Run() {
	sh.depth++
	defer sh.leave(nil)
	got := sh.mail.take()
	if got.ticked {
		sh.safely(sh.tick)
	}
	for i := range got.answers {
		sh.answer(&got.answers[i])
		sh.relieve()
	}
	for i := range got.items {
		sh.item(&got.items[i])
		sh.relieve()
	}
	for user, pos := range got.overflow {
		sh.safely(func() { sh.raise(user, pos) })
	}
	sh.mail.recycle(got)
}

// leave ends a callback: a panic closes the connection it was about, and the outermost callback writes what was staged.
func (sh *Shard) leave(s *session.Session) {
	if v := recover(); v != nil {
		sh.panicked(s, v)
	}
	if sh.depth == 1 {
		sh.flush()
	}
	sh.depth--
}

// safely runs a part of a burst, so that a panic in it does not take the rest of the burst along.
func (sh *Shard) safely(part func()) {
	defer func() {
		if v := recover(); v != nil {
			sh.panicked(nil, v)
		}
	}()
	part()
}

func (sh *Shard) panicked(s *session.Session, v any) {
	sh.core.meter.panics.Inc()
	sh.core.log.Error("a handler panicked; its connection is closed", "panic", v, "stack", string(debug.Stack()))
	if s != nil && s.State != session.Free {
		sh.condemn(s, protocol.CodeInternal)
	}
}
