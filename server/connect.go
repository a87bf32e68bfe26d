package server

import (
	"bytes"
	"math"
	"time"

	"lifeline/protocol"
	"lifeline/server/auth"
	"lifeline/server/delivery"
	"lifeline/server/liveness"
	"lifeline/server/session"
)

// login is a Connect that is being answered, and what the client has sent behind it. Owned by the loop.
type login struct {
	device   string
	progress session.Progress
	expiry   time.Time
	held     []byte // bytes behind the Connect, handled once Connack is written
	room     int    // for held
	borrowed int    // of the node's body budget
}

// connect begins a session: its token is checked off the loop [P-6.1]. authenticated goes on.
func (sh *Shard) connect(s *session.Session, b []byte) {
	f := &sh.frames.connect
	if err := f.Parse(b); err != nil {
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	}
	if code := sh.connectFault(f); code != 0 {
		sh.refuseConn(s, code)
		return
	}
	if !sh.core.borrow(protocol.MaxPreAuth) {
		sh.refuseConn(s, protocol.CodeMemory)
		return
	}
	sh.core.meter.duplicates.Add(int(min(f.Duplicates, maxReported)))
	s.Instance, s.Attempt, s.Order = f.Instance, uint32(min(f.Attempt, math.MaxUint32)), sh.core.nextOrder()
	s.Capabilities = uint16(f.Capabilities)
	s.Platform = narrowed(f.Platform)
	s.Activity = narrowed(f.Activity)
	sh.noteNetwork(s, &f.Network)
	const header = 2 // at least
	l := &login{device: string(f.Device), borrowed: protocol.MaxPreAuth, room: protocol.MaxPreAuth - header - len(b), progress: session.Progress{HasPos: f.HasPos,
		Pos: f.Pos, SameEpoch: bytes.Equal(f.Epoch, sh.core.epoch[:]), MaxBacklog: f.MaxBacklog}}
	sh.logins[s.ID.Slot()] = l
	s.State = session.Authenticating
	job := auth.Job{Conn: uint64(s.ID), Token: append([]byte(nil), f.Token...), Device: l.device, Reply: sh}
	if !sh.core.pool.Submit(job) {
		sh.refuseConn(s, protocol.CodeBusy)
	}
}

// narrowed is the number of an enum in a session's byte. One that does not fit has no name, and so means 0 [P-3.2]; cut to a
// byte it would mean something else.
func narrowed[E ~int32](v E) uint8 {
	if v < 0 || v > math.MaxUint8 {
		return 0
	}
	return uint8(v)
}

// noteNetwork keeps what the client has found of its network.
func (sh *Shard) noteNetwork(s *session.Session, n *protocol.Network) {
	switch n.Class {
	case protocol.Wired:
		s.Set(session.Wired)
	case protocol.CellularSlow:
		s.Set(session.Slow)
	}
	s.Line.SetLow(liveness.Bears(time.Duration(n.LowS)*time.Second, time.Duration(n.HighS)*time.Second))
}

// maxReported bounds what one Connect can add to a counter.
const maxReported = 1 << 20

// connectFault returns why a Connect cannot be served, or 0 [P-6.2], [P-3.7].
func (sh *Shard) connectFault(f *protocol.Connect) protocol.Code {
	switch {
	case sh.core.stopping.Load():
		return protocol.CodeDraining
	case f.Version != protocol.Version:
		return protocol.CodeUnsupportedVersion
	case !protocol.ValidID(f.Device):
		return protocol.CodeInvalidID
	case int(f.MaxPayload) < sh.core.opts.MaxPayload:
		return protocol.CodeFrameTooSmall
	default:
		return 0
	}
}

// hold keeps bytes that came behind a Connect; with it they must not exceed what an unknown peer may send [P-1.5].
func (sh *Shard) hold(s *session.Session, data []byte) {
	l := sh.logins[s.ID.Slot()]
	if len(l.held)+len(data) > l.room {
		sh.refuseConn(s, protocol.CodePreauthOverflow)
		return
	}
	l.held = append(l.held, data...)
}

// authenticated installs the session. The order matters: it must be in the index before its loop's bit is set, and the
// bit before the head is read, or a message committed in between would be neither pushed nor read. It is in the index and
// on its way into the table before the one that it follows is closed, or its user would be offline in between.
func (sh *Shard) authenticated(s *session.Session, a *auth.Answer) {
	if s.State != session.Authenticating {
		return
	}
	if code := delivery.CodeOfToken(auth.RefusalOf(a.Err)); code != 0 {
		sh.refuseConn(s, code)
		return
	}
	l := sh.logins[s.ID.Slot()]
	user := a.Identity.User
	l.expiry = a.Identity.Expiry
	if sh.core.displaced.has(displacedKey{user, l.device, s.Instance}, sh.core.now()) {
		sh.refuseConn(s, protocol.CodeDisplaced)
		return
	}
	if err := sh.users.SetIDs(s, []byte(user), []byte(l.device)); err != nil {
		sh.core.complain("log-ins are refused", err)
		sh.refuseConn(s, protocol.CodeMemory)
		return
	}
	s.UserHash = sh.core.dir.Hash(user)
	s.State = session.Starting
	s.Set(session.Reading)
	sh.users.Add(s)
	mask := sh.core.dir.Join(s.UserHash, sh.index)
	c := claim{user: user, device: l.device, platform: s.Platform, hash: s.UserHash, claim: s.Claim()}
	if sh.contest(s.ID, &c) {
		return
	}
	sh.register(s)
	sh.claimElsewhere(s.ID, c, mask)
	read := delivery.Read{Kind: delivery.ReadStart, Conn: uint64(s.ID), Reply: sh, User: user, Device: l.device}
	if !sh.core.readers.Submit(read) {
		sh.refuseConn(s, protocol.CodeBusy)
	}
}

// startRead goes on when the store has said where the user's inbox stands: Connack, then whatever the client sent behind
// its Connect, then the pump.
func (sh *Shard) startRead(s *session.Session, a *delivery.ReadAnswer) {
	if s.State != session.Starting {
		return
	}
	if a.Err != nil {
		sh.readFailed(a.Err)
		sh.refuseConn(s, protocol.CodeInternal)
		return
	}
	l := sh.logins[s.ID.Slot()]
	at := session.StartAt(l.progress, a.Start.Head, a.Start.Trimmed)
	s.Head = max(s.Head, a.Start.Head)
	s.Acked, s.Sent = at.Pos, at.Pos
	s.Clear(session.Reading)
	s.State = session.Active
	sh.sessions.Add(1)
	now := sh.clock.Now()
	s.LastIn, s.Checked, s.Progress = now, now, now
	sh.plan(s).Due = shortly(now)
	s.Interval = sh.interval(s)
	s.ForgivePings(now)
	sh.setExpiry(s, l.expiry)
	switch {
	case at.Reset:
		s.Set(session.Resetting)
	case !a.Start.HasCursor || at.Pos > a.Start.Cursor:
		sh.markDirty(s)
	}
	sh.connack(s, a.Start.Head, at, l.expiry)
	held := l.held
	sh.dropLogin(s)
	if len(held) > 0 {
		sh.inbound(s, held)
	}
	sh.pump(s, nil)
}

// connack says when it is by the node's clock [P-3.11] and what the client may do [P-1.6], [P-4.4].
func (sh *Shard) connack(s *session.Session, head uint64, at session.Position, expiry time.Time) {
	o := &sh.core.opts
	f := &sh.frames.connack
	*f = protocol.Connack{ConnID: uint64(s.ID), ServerTimeMs: uint64(time.Now().UnixMilli()), Epoch: sh.core.epoch[:],
		Head: head, Start: at.Pos, Reset: at.Reset, Heartbeat: sh.heartbeat(s), PushWindow: uint32(o.PushWindow),
		PushWindowBytes: session.OutboundHigh, Hosts: sh.core.hosts,
		Limits: protocol.Limits{MaxFrame: uint32(o.MaxPayload + protocol.FrameOverhead), MaxPayload: uint32(o.MaxPayload),
			UnansweredSends: maxSends, UnansweredRequests: maxRequests, AckDelayMs: 200, AckEvery: 16}}
	if !expiry.IsZero() {
		f.TokenExpiryMs = uint64(expiry.UnixMilli())
	}
	out := sh.out(s)
	*out = f.Append(*out)
	sh.wrote(s, protocol.TypeConnack)
}

func (sh *Shard) dropLogin(s *session.Session) {
	if l := sh.logins[s.ID.Slot()]; l != nil {
		sh.core.giveBack(l.borrowed)
		delete(sh.logins, s.ID.Slot())
	}
}

const (
	// expiryGrace is how long a session outlives its token, so that a refresh can cross the line late [P-6.30].
	expiryGrace = time.Minute
	// expiryFar is an expiry that no session lives to see. The loop's clock would not reach the farthest that a token
	// may have.
	expiryFar = 365 * 24 * time.Hour
)

func (sh *Shard) setExpiry(s *session.Session, expiry time.Time) {
	s.Expiry = 0
	if left := time.Until(expiry); !expiry.IsZero() && left < expiryFar {
		s.Expiry = max(1, sh.clock.Now().Add(left+expiryGrace))
		sh.soon(s, s.Expiry)
	}
}

// reauth checks a fresh token for a session that goes on.
func (sh *Shard) reauth(s *session.Session, b []byte) {
	f := &sh.frames.reauth
	if err := f.Parse(b); err != nil {
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	}
	if !sh.takeRequest(s, f.ID, protocol.TypeReauth) {
		return
	}
	job := auth.Job{Conn: uint64(s.ID), Tag: f.ID, Token: append([]byte(nil), f.Token...),
		Device: string(sh.users.Device(s)), Reply: sh}
	if !sh.core.pool.Submit(job) {
		s.Requests--
		sh.refuse(s, f.ID, protocol.TypeReauth, protocol.CodeBusy)
	}
}

// reauthenticated answers a Reauth. A token of another user is as bad as a forged one.
func (sh *Shard) reauthenticated(s *session.Session, a *auth.Answer) {
	s.Requests--
	code := delivery.CodeOfToken(auth.RefusalOf(a.Err))
	if code == 0 && !sh.users.Is(s, a.Identity.User) {
		code = protocol.CodeBadToken
	}
	f := &sh.frames.result
	*f = protocol.Result{ID: a.Tag}
	if code != 0 {
		f.Status = code.Status()
	} else {
		sh.setExpiry(s, a.Identity.Expiry)
		if !a.Identity.Expiry.IsZero() {
			f.TokenExpiryMs = uint64(a.Identity.Expiry.UnixMilli())
		}
	}
	out := sh.out(s)
	*out = f.Append(*out)
	sh.wrote(s, protocol.TypeResult)
}
