package server

import (
	"lifeline/protocol"
	"lifeline/server/auth"
	"lifeline/server/delivery"
	"lifeline/server/session"
	"lifeline/store"
)

// takeRequest counts a request in, or refuses it: every answer that may come later is paid for by one of maxRequests
// [P-4.1], [P-4.4].
func (sh *Shard) takeRequest(s *session.Session, id uint64, t protocol.Type) bool {
	if s.Requests >= maxRequests || sh.outbound(s) > session.OutboundHigh {
		sh.refuse(s, id, t, protocol.CodeBusy)
		return false
	}
	s.Requests++
	return true
}

// refuse answers a request that cannot be served; the connection stays [P-4.2], [P-4.3].
func (sh *Shard) refuse(s *session.Session, id uint64, t protocol.Type, code protocol.Code) {
	f := &sh.frames.err
	*f = protocol.Error{ID: id, Status: code.Status(), FrameType: uint32(t)}
	out := sh.out(s)
	*out = f.Append(*out)
	sh.wrote(s, protocol.TypeError)
	sh.core.meter.refused(code)
}

// pull asks for a range of a conversation's history [P-6.20].
func (sh *Shard) pull(s *session.Session, b []byte) {
	f := &sh.frames.pull
	if err := f.Parse(b); err != nil {
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	}
	if code := pullFault(f); code != 0 {
		sh.refuse(s, f.ID, protocol.TypePull, code)
		return
	}
	if s.Has(session.Pulling) {
		sh.refuse(s, f.ID, protocol.TypePull, protocol.CodeBusy)
		return
	}
	if !sh.takeRequest(s, f.ID, protocol.TypePull) {
		return
	}
	q := delivery.Read{Kind: delivery.ReadHistory, Conn: uint64(s.ID), Reply: sh, User: string(sh.users.User(s)),
		Request: f.ID, Conversation: string(f.Conversation), FromSeq: f.FromSeq, ToSeq: f.ToSeq,
		MaxFrame: sh.core.opts.MaxPayload + protocol.FrameOverhead}
	if !sh.core.readers.Submit(q) {
		s.Requests--
		sh.core.meter.readsRefused.Inc()
		sh.refuse(s, f.ID, protocol.TypePull, protocol.CodeBusy)
		return
	}
	s.Set(session.Pulling)
}

func pullFault(f *protocol.Pull) protocol.Code {
	switch {
	case len(f.Conversation) == 0 || len(f.Conversation) > 2*protocol.MaxIDBytes+1:
		return protocol.CodeInvalidID
	case f.FromSeq == 0 || f.ToSeq < f.FromSeq || f.ToSeq-f.FromSeq >= store.MaxHistory:
		return protocol.CodeBadRange
	default:
		return 0
	}
}

// pulled answers a Pull.
func (sh *Shard) pulled(s *session.Session, a *delivery.ReadAnswer) {
	s.Requests--
	s.Clear(session.Pulling)
	switch {
	case a.Err != nil:
		sh.readFailed(a.Err)
		sh.refuse(s, a.Request, protocol.TypePull, protocol.CodeInternal)
	case a.Refusal != store.None:
		sh.refuse(s, a.Request, protocol.TypePull, delivery.CodeOf(a.Refusal))
	default:
		sh.outFrames(s, *a.Frames)
		sh.wrote(s, protocol.TypePulled)
	}
}

// bye ends the session because the client says so. After a logout the store forgets the device [P-6.31].
func (sh *Shard) bye(s *session.Session, b []byte) {
	f := &sh.frames.bye
	if err := f.Parse(b); err != nil {
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	}
	code := protocol.CodeBye
	if f.Reason == protocol.ByeLogout {
		code = protocol.CodeLoggedOut
		forget := &store.Forget{Origin: store.Origin{Conn: uint64(s.ID)}, Reply: forgotten{},
			User: string(sh.users.User(s)), Device: string(sh.users.Device(s))}
		if r := sh.core.store.Submit(forget); r != store.None {
			sh.refuseConn(s, delivery.CodeOf(r)) // the client says goodbye again on its next connection
			return
		}
	}
	sh.refuseConn(s, code)
}

// forgotten takes the answer of a Forget, for which nobody waits.
type forgotten struct{}

func (forgotten) Reply(store.Answer) {}

var _ auth.Replier = (*Shard)(nil)
var _ store.Replier = (*Shard)(nil)
var _ delivery.Reader = (*Shard)(nil)
