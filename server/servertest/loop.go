package servertest

import (
	"io"
	"net"

	"lifeline/server"
	"lifeline/server/liveness"
	"lifeline/server/session"
)

// loop is an event loop: one goroutine that runs what it is given, in order.
type loop struct {
	shard *server.Shard
	tasks chan func()
	done  chan struct{}
}

func newLoop(sh *server.Shard) *loop {
	l := &loop{shard: sh, tasks: make(chan func(), 1<<16), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for task := range l.tasks {
			task()
		}
	}()
	l.do(func() { sh.Bind(l) })
	return l
}

// do runs a task on the loop and waits for it.
func (l *loop) do(task func()) {
	ran := make(chan struct{})
	l.tasks <- func() { defer close(ran); task() }
	<-ran
}

func (l *loop) stop() {
	close(l.tasks)
	<-l.done
}

// Wake implements server.Loop.
func (l *loop) Wake() bool { l.tasks <- l.shard.Run; return true }

// Close implements server.Loop.
func (l *loop) Close(c server.Conn) { c.(*conn).closeHere(nil) }

// ShutWrite implements server.Loop.
func (l *loop) ShutWrite(c server.Conn) {
	conn := c.(*conn)
	conn.client.mu.Lock()
	defer conn.client.mu.Unlock()
	conn.shut = true
	conn.client.eofLocked()
}

// PathInfo implements server.Loop.
func (l *loop) PathInfo(c server.Conn) liveness.PathInfo {
	client := c.(*conn).client
	client.mu.Lock()
	defer client.mu.Unlock()
	client.asked++
	return client.info
}

// conn is the server's end of a connection. Owned by the loop, but for what the client's lock guards.
type conn struct {
	loop    *loop
	session *session.Session
	client  *Client
	closed  bool
	shut    bool
	waiting []byte // outbound: the client does not read. Guarded by client.mu.
}

// Write implements server.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.client.mu.Lock()
	broken := c.client.broken
	if !broken {
		if c.client.stalled {
			c.waiting = append(c.waiting, p...)
		} else {
			c.client.takeLocked(p)
		}
	}
	c.client.mu.Unlock()
	if broken {
		c.closeHere(io.ErrClosedPipe)
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// OutboundBuffered implements server.Conn.
func (c *conn) OutboundBuffered() int {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	return len(c.waiting)
}

// RemoteAddr implements server.Conn.
func (c *conn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// closeHere ends the connection on its loop, as an event loop does: the shard hears of it before this returns.
func (c *conn) closeHere(err error) {
	if c.closed {
		return
	}
	c.closed = true
	c.loop.shard.Closed(c.session, err)
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	c.client.eofLocked()
}
