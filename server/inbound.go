package server

import (
	"errors"

	"lifeline/protocol"
	"lifeline/server/liveness"
	"lifeline/server/session"
)

// body is a frame that has not arrived whole. Its buffer has the exact size of the body, and was taken from the node's
// budget after its length was accepted [P-1.8].
type body struct {
	t     protocol.Type
	buf   []byte        // len: arrived, cap: the body
	began liveness.Time // of the loop's clock
}

// inbound consumes all of data: whole frames are dispatched in their order [P-1.9], the rest is kept outside the event
// loop's own buffers.
func (sh *Shard) inbound(s *session.Session, data []byte) {
	sh.heard(s)
	for len(data) > 0 {
		if s.Stage != 0 && len(sh.stages[s.Stage-1].buf) > session.OutboundMax {
			sh.condemn(s, protocol.CodeSlowConsumer) // the answers to small frames are larger than those
			return
		}
		switch s.State {
		case session.Opened, session.Active:
			data = sh.next(s, data)
		case session.Authenticating, session.Starting:
			sh.hold(s, data)
			return
		default:
			return
		}
	}
}

// next dispatches the first frame in data, or keeps its beginning, and returns what follows it.
func (sh *Shard) next(s *session.Session, data []byte) (rest []byte) {
	if s.Has(session.Unfinished) {
		return sh.fill(s, data)
	}
	if s.HeaderLen > 0 {
		return sh.nextAfterHeader(s, data)
	}
	h, n, ok := sh.header(s, data)
	switch {
	case !ok:
		return nil
	case len(data)-n >= h.Body:
		sh.dispatch(s, h.Type, data[n:n+h.Body])
		return data[n+h.Body:]
	default:
		sh.begin(s, h)
		return data[n:]
	}
}

// nextAfterHeader is next for a frame whose header began in earlier bytes.
func (sh *Shard) nextAfterHeader(s *session.Session, data []byte) (rest []byte) {
	var joined [2 * protocol.MaxHeader]byte
	had := copy(joined[:], s.Header[:s.HeaderLen])
	whole := joined[:had+copy(joined[had:], data[:min(len(data), protocol.MaxHeader)])]
	h, n, ok := sh.header(s, whole)
	if !ok {
		return nil
	}
	s.HeaderLen = 0
	data = data[n-had:]
	if len(data) >= h.Body {
		sh.dispatch(s, h.Type, data[:h.Body])
		return data[h.Body:]
	}
	sh.begin(s, h)
	return data
}

// header reads a header. Where it is not ok, b was kept because it ends inside the header, or the connection has been
// closed: without a word if it is another protocol's [P-2.4], else with the code of the fault [P-1.10].
func (sh *Shard) header(s *session.Session, b []byte) (h protocol.Header, n int, ok bool) {
	if s.State == session.Opened {
		if code := protocol.Foreign(b); code != 0 {
			sh.condemn(s, code)
			return h, 0, false
		}
	}
	h, n, err := protocol.ReadHeader(b, sh.maxLength(s))
	switch {
	case errors.Is(err, protocol.ErrTooLarge) && s.State == session.Opened:
		sh.refuseConn(s, protocol.CodePreauthOverflow)
	case errors.Is(err, protocol.ErrTooLarge):
		sh.refuseConn(s, protocol.CodeFrameTooLarge)
	case err != nil:
		sh.refuseConn(s, protocol.CodeMalformed)
	case n == 0:
		s.HeaderLen = uint8(copy(s.Header[:], b))
	}
	return h, n, err == nil && n > 0
}

// begin prepares for a body that has not arrived whole.
func (sh *Shard) begin(s *session.Session, h protocol.Header) {
	if s.State == session.Opened && h.Type != protocol.TypeConnect {
		sh.dispatch(s, h.Type, nil) // refused by its type alone: nothing is kept for it
		return
	}
	if !sh.core.borrow(h.Body) {
		sh.refuseConn(s, protocol.CodeMemory)
		return
	}
	now := sh.clock.Now()
	sh.bodies[s.ID.Slot()] = &body{t: h.Type, buf: make([]byte, 0, h.Body), began: now}
	s.Set(session.Unfinished)
	sh.soon(s, now.Add(frameTime))
}

// fill adds to an unfinished body and dispatches it when it is whole.
func (sh *Shard) fill(s *session.Session, data []byte) (rest []byte) {
	b := sh.bodies[s.ID.Slot()]
	n := min(cap(b.buf)-len(b.buf), len(data))
	b.buf = append(b.buf, data[:n]...)
	if len(b.buf) == cap(b.buf) {
		sh.dropBody(s)
		sh.dispatch(s, b.t, b.buf)
	}
	return data[n:]
}

func (sh *Shard) dropBody(s *session.Session) {
	if s.Has(session.Unfinished) {
		sh.core.giveBack(cap(sh.bodies[s.ID.Slot()].buf))
		delete(sh.bodies, s.ID.Slot())
		s.Clear(session.Unfinished)
	}
}

// maxLength is the largest length this connection may send now [P-1.5], [P-1.6].
func (sh *Shard) maxLength(s *session.Session) int {
	if s.State == session.Opened {
		return protocol.MaxPreAuth
	}
	return sh.core.opts.MaxPayload + protocol.FrameOverhead
}

// dispatch treats one whole frame; the handler is named after its type.
func (sh *Shard) dispatch(s *session.Session, t protocol.Type, b []byte) {
	sh.core.meter.framesIn[t].Inc()
	if s.Has(session.Traced) {
		sh.traceIn(s, t, b)
	}
	if t != protocol.TypePing {
		sh.proven = 0
		s.ForgivePings(sh.clock.Now())
	}
	switch session.Expect(s.State, t) {
	case session.Handle:
	case session.Ignore:
		return
	case session.Refuse:
		sh.refuse(s, 0, t, protocol.CodeUnsupported)
		return
	default:
		sh.refuseConn(s, protocol.CodeUnexpectedFrame)
		return
	}
	switch t {
	case protocol.TypeConnect:
		sh.connect(s, b)
	case protocol.TypePing:
		sh.ping(s, b)
		sh.proven = 0
	case protocol.TypeProbeAck:
		// Its arrival is all it says.
	case protocol.TypeState:
		sh.state(s, b)
	case protocol.TypeSend:
		sh.send(s, b)
	case protocol.TypeAck:
		sh.ack(s, b)
	case protocol.TypePull:
		sh.pull(s, b)
	case protocol.TypePresence:
		sh.presence(s, b)
	case protocol.TypeReauth:
		sh.reauth(s, b)
	case protocol.TypeBye:
		sh.bye(s, b)
	}
}
