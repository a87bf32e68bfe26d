package server

import (
	"hash/maphash"

	"lifeline/protocol"
	"lifeline/server/delivery"
	"lifeline/server/session"
	"lifeline/store"
)

// Unanswered requests a session may have [P-4.4].
const (
	maxSends    = 64
	maxRequests = 4
)

// send submits a message to the store. What may pass later is refused here, before the store's queue, and then every
// Send behind it is refused until it comes again, so that an outbox drains in order [P-6.18]; what has entered the queue is
// stored, or refused for good, or the connection is closed.
func (sh *Shard) send(s *session.Session, b []byte) {
	f := &sh.frames.send
	if err := f.Parse(b); err != nil {
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	}
	if code := sh.sendFault(f); code != 0 {
		sh.sendRefused(s, f.ID, code)
		return
	}
	id := sh.hashClientID(f.ClientID)
	if s.Refused != 0 && s.Refused != id && !f.SkipOrder {
		sh.sendRefused(s, f.ID, protocol.CodeOutOfOrder)
		return
	}
	if code := sh.submit(s, f); code != 0 {
		s.Refused = id
		sh.sendRefused(s, f.ID, code)
		return
	}
	s.Refused = 0
	s.Sends++
}

// submit brings a Send into the store's queue, or returns why it may come again later.
func (sh *Shard) submit(s *session.Session, f *protocol.Send) protocol.Code {
	switch r := sh.core.routes; {
	case r != nil && r.Foreign():
		return protocol.CodeNotHere
	case s.Sends >= maxSends || sh.outbound(s) > session.OutboundHigh:
		return protocol.CodeBusy
	default:
		return delivery.CodeOf(sh.core.store.Submit(sh.sendCommand(s, f)))
	}
}

// sendFault returns why a Send can never be stored, as far as the frame alone tells, or 0. It does not look into the
// payload [P-3.10].
func (sh *Shard) sendFault(f *protocol.Send) protocol.Code {
	switch {
	case len(f.Payload) > sh.core.opts.MaxPayload:
		return protocol.CodePayloadTooLarge
	case len(f.ClientID) == 0 || len(f.ClientID) > protocol.MaxIDBytes:
		return protocol.CodeInvalidID
	case f.To == protocol.ToNobody || !protocol.ValidID(f.ToID):
		return protocol.CodeInvalidID
	default:
		return 0
	}
}

// sendCommand copies what the store will keep out of the loop's buffers: the ids in one string, the bytes in one slice. The
// store knows a repeated Send by them [P-6.16] and wakes nobody who is not to be woken [P-6.19].
func (sh *Shard) sendCommand(s *session.Session, f *protocol.Send) *store.Send {
	user, device := sh.users.User(s), sh.users.Device(s)
	ids := string(append(append(append(sh.ids[:0], user...), device...), f.ToID...))
	raw := append(append(make([]byte, 0, len(f.ClientID)+len(f.Payload)), f.ClientID...), f.Payload...)
	cmd := &store.Send{
		Origin:       store.Origin{Conn: uint64(s.ID), Tag: f.ID, Received: sh.core.now()},
		Reply:        sh,
		Sender:       ids[:len(user)],
		SenderDevice: ids[len(user) : len(user)+len(device)],
		ClientID:     raw[:len(f.ClientID):len(f.ClientID)],
		Payload:      raw[len(f.ClientID):],
		NoNotify:     f.NoNotify,
	}
	to := ids[len(user)+len(device):]
	if f.To == protocol.ToGroup {
		cmd.ToGroup = to
	} else {
		cmd.ToUser = to
	}
	return cmd
}

// stored answers a Send whose outcome is final, and on the disk if it is success [P-6.17]. Overdue is not: the Sends
// behind it may have been stored, so the client must begin again with a new connection.
func (sh *Shard) stored(s *session.Session, a *store.Answer, posted int64) {
	s.Sends--
	if a.Refusal == store.Overdue {
		sh.refuseConn(s, protocol.CodeBusy)
		return
	}
	if a.Refusal != store.None {
		sh.sendRefused(s, a.Origin.Tag, delivery.CodeOf(a.Refusal))
		return
	}
	f := &sh.frames.sendack
	*f = protocol.Sendack{ID: a.Origin.Tag, Seq: a.Seq, MessageID: a.MessageID[:], TimeMs: uint64(a.Time)}
	out := sh.out(s)
	*out = f.Append(*out)
	sh.wrote(s, protocol.TypeSendack)
	sh.core.meter.answered(sh.core.now() - posted)
}

func (sh *Shard) sendRefused(s *session.Session, id uint64, code protocol.Code) {
	f := &sh.frames.sendack
	*f = protocol.Sendack{ID: id, Status: code.Status()}
	out := sh.out(s)
	*out = f.Append(*out)
	sh.wrote(s, protocol.TypeSendack)
	sh.core.meter.refused(code)
}

// hashClientID is never 0, which stands for no refusal.
func (sh *Shard) hashClientID(id []byte) uint32 { return uint32(maphash.Bytes(sh.seed, id)) | 1 }
