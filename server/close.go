package server

import (
	"errors"
	"io"
	"time"

	"lifeline/protocol"
	"lifeline/server/session"
	"lifeline/store"
)

// closingTime is how long a connection may take to read its Close, and closingMost how many of a loop may do so.
const (
	closingTime = 2 * time.Second
	closingMost = 1000
)

// refuseConn ends a connection with a Close frame that has every chance to arrive: what is staged and the Close are
// written, the sending side is shut, inbound is thrown away, and the socket goes at the peer's end of file or after
// closingTime [P-6.32]. It names the hosts to go to [P-6.34].
func (sh *Shard) refuseConn(s *session.Session, code protocol.Code) {
	if s.State >= session.Closing || s.State == session.Free {
		return
	}
	if sh.closing.Load() >= closingMost {
		sh.condemn(s, code)
		return
	}
	sh.retire(s, code)
	s.State = session.Closing
	sh.closing.Add(1)
	s.Checked = sh.clock.Now().Add(closingTime)
	sh.plan(s).Due = s.Checked
	f := &sh.frames.close
	*f = protocol.Close{Status: code.Status(), Hosts: sh.core.hosts}
	out := sh.out(s)
	*out = f.Append(*out)
	sh.core.meter.framesOut[protocol.TypeClose].Inc()
}

// condemn ends a connection without a word: its peer cannot read one, or must not cost more. The socket is closed before
// this callback ends.
func (sh *Shard) condemn(s *session.Session, code protocol.Code) {
	switch s.State {
	case session.Free, session.Dead:
		return
	case session.Closing:
		sh.closing.Add(-1)
	default:
		sh.retire(s, code)
	}
	s.State = session.Dead
	sh.doomed = append(sh.doomed, s.ID)
}

// ended is called when the socket is gone, whoever closed it. It gives the slot back.
func (sh *Shard) ended(s *session.Session, err error) {
	switch s.State {
	case session.Free:
		return
	case session.Closing:
		sh.closing.Add(-1)
	case session.Dead:
	default:
		sh.retire(s, endCode(err))
	}
	sh.endTrace(s)
	sh.forgetUnsent(s)
	sh.conns.drop(s)
	sh.slab.Free(s)
	sh.core.connections.Add(-1)
}

func endCode(err error) protocol.Code {
	if err == nil || errors.Is(err, io.EOF) {
		return protocol.CodeEOF
	}
	return protocol.CodeReset
}

// retire is the one way out of every living state: the session leaves the index and the directory, what it borrowed is
// given back, its cursor goes to the store, and the reason is counted. It happens once for each connection, and to its
// end even when what it tells others panics.
func (sh *Shard) retire(s *session.Session, code protocol.Code) {
	sh.core.meter.closed(code)
	sh.dropBody(s)
	sh.dropLogin(s)
	if s.State == session.Active {
		sh.sessions.Add(-1)
		sh.leaveDoubt(s)
		sh.safely(func() { sh.leaveStore(s, code) })
	}
	sh.safely(func() { sh.unregister(s) })
	hash := s.UserHash
	if sh.users.Remove(s) {
		sh.core.dir.Leave(hash, sh.index)
	}
	sh.users.ReleaseIDs(s)
}

// leaveStore writes what the store should know of a device that has gone: it was last seen when it was last heard. After a
// logout it has forgotten the device and is told nothing.
func (sh *Shard) leaveStore(s *session.Session, code protocol.Code) {
	if code == protocol.CodeLoggedOut {
		return
	}
	seen := time.Now().Add(-sh.clock.Ago(s.LastIn))
	sh.core.store.Ack(store.Ack{User: string(sh.users.User(s)), Device: string(sh.users.Device(s)), Platform: s.Platform,
		Pos: s.Acked, HasPos: !s.Has(session.Resetting), Leaving: true, Seen: seen.UnixMilli()})
}

// shut ends the sending side once everything is written; until then the sweep comes back for it.
func (sh *Shard) shut(s *session.Session) {
	if s.Has(session.Shut) {
		return
	}
	if sh.conns.of(s).OutboundBuffered() > 0 {
		sh.plan(s).Due = min(s.Checked, shortly(sh.clock.Now()))
		return
	}
	s.Set(session.Shut)
	sh.loop.ShutWrite(sh.conns.of(s))
}

// stop ends every connection because the node stops.
func (sh *Shard) stop() {
	for slot := range sh.slab.Slots() {
		if s := sh.slab.At(slot); s.State != session.Free {
			sh.refuseConn(s, protocol.CodeDraining)
		}
	}
}
