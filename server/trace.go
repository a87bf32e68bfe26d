package server

import (
	"context"
	"errors"
	"fmt"

	"lifeline/protocol"
	"lifeline/server/session"
)

var errNoConnection = errors.New("there is no such connection, or it is being traced already")

// traceDepth bounds the lines a trace may be behind; what does not fit is counted and told.
const traceDepth = 1024

// trace is one watcher of one connection. Owned by the loop, but for lines.
type trace struct {
	title   []byte // set before anybody else sees the trace
	lines   chan []byte
	dropped int
}

// Trace sends the frames of a connection in text form, one a line, "<" from the client and ">" to it, until ctx ends or
// the connection does; the first line says what is traced. It may be called from any goroutine but a loop. write is called on the caller's goroutine.
func (c *Core) Trace(ctx context.Context, id session.ConnID, write func(line []byte) error) error {
	if id.Loop() >= len(c.shards) || !c.shards[id.Loop()].mail.bound() {
		return errNoConnection // a loop that nobody has used would not hear the question
	}
	sh := c.shards[id.Loop()]
	t := &trace{lines: make(chan []byte, traceDepth)}
	defer func() { // also when the loop takes the question up after it was given up
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		sh.call(last, func() bool { sh.unwatch(id, t); return true })
	}()
	if !sh.call(ctx, func() bool { return sh.watch(id, t) }) {
		return errNoConnection
	}
	if err := write(t.title); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-t.lines:
			if !ok {
				return nil
			}
			if err := write(line); err != nil {
				return err
			}
		}
	}
}

// post has f run on the loop. Any goroutine.
func (sh *Shard) post(f func()) { sh.mail.post(answer{kind: answerCall, any: f}) }

// call runs f on the loop and waits for its answer; false also when ctx ends first.
func (sh *Shard) call(ctx context.Context, f func() bool) bool {
	done := make(chan bool, 1)
	sh.post(func() { done <- f() })
	select {
	case ok := <-done:
		return ok
	case <-ctx.Done():
		return false
	}
}

func (sh *Shard) watch(id session.ConnID, t *trace) bool {
	s := sh.slab.Get(id)
	if s == nil || sh.traces[id] != nil {
		return false
	}
	if sh.traces == nil {
		sh.traces = make(map[session.ConnID]*trace)
	}
	sh.traces[id] = t
	t.title = fmt.Appendf(nil, "tracing %v, %s", id, s.State)
	if s.Has(session.Indexed) {
		t.title = fmt.Appendf(t.title, ", user %q, device %q", sh.users.User(s), sh.users.Device(s))
	}
	s.Set(session.Traced)
	return true
}

func (sh *Shard) unwatch(id session.ConnID, t *trace) {
	if sh.traces[id] != t {
		return
	}
	delete(sh.traces, id)
	close(t.lines)
	if s := sh.slab.Get(id); s != nil {
		s.Clear(session.Traced)
	}
}

// traceIn shows a frame that has come. A body that cannot be read is shown as bytes.
func (sh *Shard) traceIn(s *session.Session, t protocol.Type, body []byte) {
	sh.traceFrame(s, "< ", t, body)
}

// traceOut shows the frames of a buffer that goes out.
func (sh *Shard) traceOut(s *session.Session, buf []byte) {
	for len(buf) > 0 {
		h, n, err := protocol.ReadHeader(buf, protocol.MaxLength)
		if err != nil || n == 0 || len(buf) < n+h.Body {
			return
		}
		sh.traceFrame(s, "> ", h.Type, buf[n:n+h.Body])
		buf = buf[n+h.Body:]
	}
}

func (sh *Shard) traceFrame(s *session.Session, direction string, typ protocol.Type, body []byte) {
	t := sh.traces[s.ID]
	if t == nil {
		return
	}
	line := []byte(direction)
	if t.dropped > 0 {
		line = fmt.Appendf(nil, "(%d frames not shown: the reader of this trace is too slow)\n%s", t.dropped, direction)
	}
	if f := protocol.New(typ); f != nil && f.Parse(body) == nil {
		line = f.AppendText(line)
	} else {
		line = fmt.Appendf(line, "%v %x", typ, body[:min(len(body), 32)])
	}
	select {
	case t.lines <- line:
		t.dropped = 0
	default:
		t.dropped++
	}
}

// endTrace ends what watches a connection that is gone.
func (sh *Shard) endTrace(s *session.Session) {
	if t := sh.traces[s.ID]; t != nil {
		sh.unwatch(s.ID, t)
	}
}
