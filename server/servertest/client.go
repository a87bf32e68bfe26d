package servertest

import (
	"io"
	"sync"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
)

// Client is the other end of a connection, driven by a script. Its methods fail the test when what they wait for does
// not come within patience of virtual time.
type Client struct {
	t    testing.TB
	loop *loop
	conn *conn

	requests uint64 // last request id

	mu      sync.Mutex
	raw     []byte            // received, not yet a whole frame. Guarded by mu.
	frames  []protocol.Frame  // Guarded by mu.
	eof     bool              // Guarded by mu.
	stalled bool              // reads nothing. Guarded by mu.
	broken  bool              // writes to it fail. Guarded by mu.
	info    liveness.PathInfo // what the kernel says of the path. Guarded by mu.
	asked   int               // how often the kernel was asked. Guarded by mu.
	arrived chan struct{}     // a frame or the end has come
}

const patience = time.Minute

// Write sends bytes as they are.
func (c *Client) Write(b []byte) {
	b = append([]byte(nil), b...)
	c.loop.do(func() {
		if !c.conn.closed {
			c.loop.shard.Traffic(c.conn.session, b)
		}
	})
}

// Send sends a frame.
func (c *Client) Send(f protocol.Frame) {
	c.t.Helper()
	c.Write(f.Append(nil))
}

// Arrive puts a frame where the loop will read it, without waiting until it has. The loop may stand still meanwhile.
func (c *Client) Arrive(f protocol.Frame) {
	b := f.Append(nil)
	c.loop.tasks <- func() {
		if !c.conn.closed {
			c.loop.shard.Traffic(c.conn.session, b)
		}
	}
}

// Next returns the next frame.
func (c *Client) Next() protocol.Frame {
	c.t.Helper()
	f, err := c.next()
	if err != nil {
		c.t.Fatalf("wait for a frame: %v", err)
	}
	return f
}

func (c *Client) next() (protocol.Frame, error) {
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		if len(c.frames) > 0 {
			f := c.frames[0]
			c.frames = c.frames[1:]
			c.mu.Unlock()
			return f, nil
		}
		eof := c.eof
		c.mu.Unlock()
		if eof {
			return nil, io.EOF
		}
		select {
		case <-c.arrived:
		case <-deadline:
			return nil, errPatience
		}
	}
}

// Pending returns the frames that have arrived, without waiting.
func (c *Client) Pending() []protocol.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.frames
	c.frames = nil
	return got
}

// Expect returns the next frame, which must be a T.
func Expect[T protocol.Frame](c *Client) T {
	c.t.Helper()
	f := c.Next()
	want, ok := f.(T)
	if !ok {
		c.t.Fatalf("got %s, want a %T", f.AppendText(nil), want)
	}
	return want
}

// ExpectClose waits for a Close with the code, and the end of the connection; frames before it are thrown away.
func (c *Client) ExpectClose(code protocol.Code) {
	c.t.Helper()
	for {
		f := c.Next()
		if closed, ok := f.(*protocol.Close); ok {
			if closed.Status.Code != code {
				c.t.Fatalf("closed with %v, want %v", closed.Status.Code, code)
			}
			c.ExpectEnd()
			return
		}
	}
}

// ExpectEnd waits for the end of the connection; frames before it are thrown away.
func (c *Client) ExpectEnd() {
	c.t.Helper()
	for {
		f, err := c.next()
		if err == io.EOF {
			return
		}
		if err != nil {
			c.t.Fatalf("wait for the end: %v", err)
		}
		c.t.Logf("before the end: %s", f.AppendText(nil))
	}
}

// Stall has the client read nothing: what the server writes waits in its buffers.
func (c *Client) Stall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stalled = true
}

// Resume has the client read again.
func (c *Client) Resume() {
	c.loop.do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stalled = false
		c.takeLocked(c.conn.waiting)
		c.conn.waiting = nil
	})
}

// Read has a stalled client read n bytes of what waits for it.
func (c *Client) Read(n int) {
	c.loop.do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		n = min(n, len(c.conn.waiting))
		c.takeLocked(c.conn.waiting[:n])
		c.conn.waiting = c.conn.waiting[n:]
	})
}

// Ended reports whether the connection has ended.
func (c *Client) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.eof
}

// Waiting is the number of bytes the server holds for the client.
func (c *Client) Waiting() int { return c.conn.OutboundBuffered() }

// Close closes the client's end: the server reads an end of file.
func (c *Client) Close() { c.loop.do(func() { c.conn.closeHere(io.EOF) }) }

// Break has the line die without a word: the server hears of it only when it writes.
func (c *Client) Break() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = true
}

// Path sets what the server's kernel says of the path to the client.
func (c *Client) Path(info liveness.PathInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.info = info
}

// Asked is how often the server has asked its kernel for the path.
func (c *Client) Asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// takeLocked takes bytes from the server and cuts them into frames.
func (c *Client) takeLocked(p []byte) {
	c.raw = append(c.raw, p...)
	for {
		h, n, err := protocol.ReadHeader(c.raw, protocol.MaxLength)
		if err != nil {
			c.t.Errorf("the server wrote a bad header %x: %v", c.raw[:min(8, len(c.raw))], err)
			return
		}
		if n == 0 || len(c.raw) < n+h.Body {
			return
		}
		f := protocol.New(h.Type)
		if f == nil {
			c.t.Errorf("the server wrote a frame of type %#x", uint8(h.Type))
			return
		}
		if err := f.Parse(append([]byte(nil), c.raw[n:n+h.Body]...)); err != nil {
			c.t.Errorf("the server wrote a bad %v: %v", h.Type, err)
			return
		}
		c.raw = c.raw[n+h.Body:]
		c.frames = append(c.frames, f)
		c.tellLocked()
	}
}

func (c *Client) eofLocked() {
	c.eof = true
	c.tellLocked()
}

func (c *Client) tellLocked() {
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}
