package server

import (
	"lifeline/protocol"
	"lifeline/server/delivery"
	"lifeline/server/liveness"
	"lifeline/server/session"
	"lifeline/store"
)

// item brings one entry to the user's sessions on this loop. A panic in it ends no more than those sessions' delivery of
// this one entry, which the next head check repairs.
func (sh *Shard) item(it *delivery.Item) {
	var s *session.Session
	defer func() {
		if v := recover(); v != nil {
			sh.panicked(s, v)
		}
	}()
	for s = sh.users.First(it.Hash); s != nil; s = sh.users.Next(s) {
		if sh.users.Is(s, it.User) {
			s.Head = max(s.Head, it.Pos)
			sh.pump(s, it)
		}
	}
}

// raise is item for a position whose entry was dropped because the lane was full.
func (sh *Shard) raise(user string, pos uint64) {
	hash := sh.core.dir.Hash(user)
	for s := sh.users.First(hash); s != nil; s = sh.users.Next(s) {
		if sh.users.Is(s, user) {
			s.Head = max(s.Head, pos)
			sh.pump(s, nil)
		}
	}
}

// pump moves a session forward: it writes the item in hand if that is what comes next, or asks for a read, or waits for
// what calls it again: an item, an Ack, a read's answer, or the sweep.
func (sh *Shard) pump(s *session.Session, it *delivery.Item) {
	if s.State != session.Active {
		return
	}
	var pos uint64
	if it != nil {
		pos = it.Pos
	}
	outbound := sh.outbound(s)
	switch step, room := s.Next(pos, outbound, sh.core.opts.PushWindow); step {
	case session.Write:
		sh.push(s, it)
	case session.Read:
		sh.readInbox(s, room)
	case session.Rest:
		if outbound > session.OutboundHigh {
			sh.block(s)
		}
	}
}

// block leaves the session to the sweep, which pumps it again.
func (sh *Shard) block(s *session.Session) {
	s.Set(session.Blocked)
	sh.soon(s, sh.clock.Now())
}

// push writes one item as it came from the committer.
func (sh *Shard) push(s *session.Session, it *delivery.Item) {
	out := sh.out(s)
	before := len(*out)
	*out = it.Append(*out, uint64(s.ID), uint32(s.Capabilities))
	sh.staged += len(*out) - before
	sh.sent(s, it.Pos)
	sh.wrote(s, protocol.TypePush)
	sh.core.meter.written(sh.core.now() - it.What.Committed)
}

// sent moves Sent and starts the time of ack progress with the first push that is unacknowledged.
func (sh *Shard) sent(s *session.Session, pos uint64) {
	if s.Sent == s.Acked {
		s.Progress = sh.clock.Now()
		sh.soon(s, shortly(s.Progress))
	}
	s.Sent = pos
}

// readInbox asks the reader pool for what comes after Sent; room 0 asks only where the head is. When the pool's queue is
// full the sweep asks again.
func (sh *Shard) readInbox(s *session.Session, room int) {
	q := delivery.Read{Kind: delivery.ReadInbox, Conn: uint64(s.ID), Reply: sh, User: string(sh.users.User(s)),
		From: s.Sent + 1, Room: room, Capabilities: uint32(s.Capabilities),
		MaxFrame: sh.core.opts.MaxPayload + protocol.FrameOverhead}
	if sh.core.readers.Submit(q) {
		s.Set(session.Reading)
		return
	}
	sh.core.meter.readsRefused.Inc()
	sh.block(s)
}

// inboxRead takes a read's answer. Every read is answered, so a session never waits for one in vain; one that failed, or
// brought nothing although there is more, leaves the session to the sweep.
func (sh *Shard) inboxRead(s *session.Session, a *delivery.ReadAnswer) {
	s.Clear(session.Reading)
	if a.Err != nil {
		sh.readFailed(a.Err)
		sh.block(s)
		return
	}
	s.Head = max(s.Head, a.Head)
	if a.Trimmed > s.Sent { // [P-6.5]: what comes next is gone, and nothing is skipped
		sh.refuseConn(s, protocol.CodeResync)
		return
	}
	if a.Frames != nil {
		sh.outFrames(s, *a.Frames)
		sh.sent(s, a.Last)
		sh.core.meter.framesOut[protocol.TypePush].Add(a.Pushes - 1)
		sh.wrote(s, protocol.TypePush)
	} else if a.Asked && s.Head > s.Sent {
		sh.core.meter.readsEmpty.Inc()
		sh.block(s)
		return
	}
	sh.pump(s, nil)
}

func (sh *Shard) readFailed(err error) {
	sh.core.meter.readsFailed.Inc()
	sh.core.complain("the store could not be read; the sessions concerned try again", err)
}

// ack moves what the device has acknowledged [P-6.8], [P-6.9]. Only this moves a cursor.
func (sh *Shard) ack(s *session.Session, b []byte) {
	f := &sh.frames.ack
	switch err := f.Parse(b); {
	case err != nil || !f.HasPos:
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	case f.Pos > s.Sent:
		sh.refuseConn(s, protocol.CodeAckBeyondSent)
		return
	}
	if f.Pos < s.Acked || f.Pos == s.Acked && !s.Has(session.Resetting) {
		return
	}
	s.Clear(session.Resetting)
	s.Acked = f.Pos
	s.Progress = sh.clock.Now()
	if s.Line.Wakeable() {
		sh.soon(s, s.Progress)
	}
	sh.stepApp(s, liveness.AppProgress, s.Line.Path(s.Progress).Path)
	sh.markDirty(s)
	sh.pump(s, nil)
}

// markDirty puts the session on the list whose cursors go to the store within half a second.
func (sh *Shard) markDirty(s *session.Session) {
	if !s.Has(session.CursorDirty) {
		s.Set(session.CursorDirty)
		sh.dirty = append(sh.dirty, s.ID)
	}
}

// flushCursors gives the store the cursors that have moved.
func (sh *Shard) flushCursors() {
	for _, id := range sh.dirty {
		s := sh.slab.Get(id)
		if s == nil || !s.Has(session.CursorDirty|session.Indexed) {
			continue
		}
		s.Clear(session.CursorDirty)
		sh.core.store.Ack(store.Ack{User: string(sh.users.User(s)), Device: string(sh.users.Device(s)),
			Platform: s.Platform, Pos: s.Acked, HasPos: true})
	}
	sh.dirty = sh.dirty[:0]
}
