package client

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"lifeline/protocol"
)

const (
	readBuffer = 32 << 10
	frameMost  = protocol.PayloadCeiling + protocol.FrameOverhead // of any server, at any time [P-1.7]
	lingering  = 2 * time.Second                                  // after a failed write
)

// connection owns one net.Conn and the two goroutines that read and write it. Its methods may be called from any
// goroutine.
type connection struct {
	// Set at construction.
	conn   net.Conn
	log    *slog.Logger
	frames chan []protocol.Frame // what came, in order; closed when no more comes
	wake   chan struct{}
	done   chan struct{} // closed by close
	ending sync.Once

	began time.Time
	heard atomic.Int64 // when bytes last came, since began

	mu  sync.Mutex
	out []byte // to be written. Guarded by mu.
	err error  // why no more frames come. Guarded by mu.
}

func newConnection(conn net.Conn, log *slog.Logger) *connection {
	c := &connection{conn: conn, log: log, began: time.Now(), frames: make(chan []protocol.Frame), wake: make(chan struct{}, 1),
		done: make(chan struct{})}
	go c.read()
	go c.write()
	return c
}

// send queues a frame. What is queued is bounded by what the protocol lets a client leave unanswered.
func (c *connection) send(f protocol.Frame) {
	c.mu.Lock()
	c.out = f.Append(c.out)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// close ends the connection at once. It does not wait for the goroutines.
func (c *connection) close() {
	c.ending.Do(func() {
		close(c.done)
		_ = c.conn.Close()
	})
}

// lost says why frames was closed.
func (c *connection) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *connection) heardAt() time.Time { return c.began.Add(time.Duration(c.heard.Load())) }

func (c *connection) write() {
	var buf []byte
	for {
		select {
		case <-c.wake:
		case <-c.done:
			return
		}
		c.mu.Lock()
		buf, c.out = c.out, buf[:0]
		c.mu.Unlock()
		if _, err := c.conn.Write(buf); err != nil {
			// The server's Close may be on its way: the reader takes what there is and reports the end.
			_ = c.conn.SetReadDeadline(time.Now().Add(lingering))
			return
		}
	}
}

func (c *connection) read() {
	in := bufio.NewReaderSize(heedful{c}, readBuffer)
	for {
		batch, err := c.readBatch(in)
		if len(batch) > 0 {
			select {
			case c.frames <- batch:
			case <-c.done:
			}
		}
		if err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
			close(c.frames)
			return
		}
	}
}

// heedful notes when bytes come.
type heedful struct{ c *connection }

func (h heedful) Read(p []byte) (int, error) {
	n, err := h.c.conn.Read(p)
	if n > 0 {
		h.c.heard.Store(int64(time.Since(h.c.began)))
	}
	return n, err
}

// readBatch waits for one frame and takes those behind it that have come whole. Frames before an error are returned with
// it.
func (c *connection) readBatch(in *bufio.Reader) (batch []protocol.Frame, err error) {
	for {
		f, err := c.readFrame(in)
		if err != nil {
			return batch, err
		}
		if f != nil {
			batch = append(batch, f)
		}
		if !wholeFrame(in) && len(batch) > 0 {
			return batch, nil
		}
	}
}

func wholeFrame(in *bufio.Reader) bool {
	b, _ := in.Peek(min(in.Buffered(), protocol.MaxHeader))
	h, n, err := protocol.ReadHeader(b, frameMost)
	return err == nil && n > 0 && in.Buffered() >= n+h.Body
}

// readFrame returns nil for a frame of a type that this client does not know: newer servers may send such [P-2.2].
func (c *connection) readFrame(in *bufio.Reader) (protocol.Frame, error) {
	h, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	body := make([]byte, h.Body)
	if _, err := io.ReadFull(in, body); err != nil {
		return nil, fmt.Errorf("read %v: %w", h.Type, whole(err))
	}
	f := protocol.New(h.Type)
	switch {
	case h.Type.FromClient():
		return nil, errDirection
	case f == nil && !h.Type.Ignorable():
		c.log.Warn("the server sent a frame that this client does not know", "type", fmt.Sprintf("0x%02x", uint8(h.Type)))
		return nil, nil
	case f == nil:
		return nil, nil
	}
	if err := f.Parse(body); err != nil {
		return nil, fmt.Errorf("read %v: %w", h.Type, err)
	}
	return f, nil
}

// readHeader reads byte by byte, for the shortest frame has no more than two.
func readHeader(in *bufio.Reader) (protocol.Header, error) {
	var b [protocol.MaxHeader]byte
	for i := range b {
		c, err := in.ReadByte()
		if err != nil {
			if i > 0 {
				err = whole(err)
			}
			return protocol.Header{}, err
		}
		b[i] = c
		if h, n, err := protocol.ReadHeader(b[:i+1], frameMost); err != nil || n > 0 {
			return h, err
		}
	}
	return protocol.Header{}, protocol.ErrOverlong
}

// whole names an end of file inside a frame.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
