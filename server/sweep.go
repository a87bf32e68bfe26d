package server

import (
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
	"lifeline/server/session"
)

const (
	// sweepActions bounds what one tick may do; what is due stays due.
	sweepActions = 256
	// cursorEvery is how long a moved cursor may wait for the store.
	cursorEvery = 400 * time.Millisecond
	// frameTime is how long a frame may take to arrive once it has begun, for what is there of it holds memory that all
	// connections share [P-1.11].
	frameTime = 2 * time.Minute
	// blindEvery is how often, in passes, an active session is visited whatever its Due says, so that one whose Due or state
	// was lost is found by its silence. 68 minutes on a node with many.
	blindEvery = 1 << 12
	// sampleMost bounds the sessions whose lag is measured in one pass.
	sampleMost = 4096
)

// sweep walks a loop's slab, a tenth of it each tick, instead of keeping a timer for each connection. Owned by the loop.
type sweep struct {
	next     uint32 // slot
	pass     uint32
	sampleAt uint32 // slot whose lag is measured next
}

// tick moves the loop's clock and takes one step of the sweep.
func (sh *Shard) tick() {
	now := sh.clock.Tick(time.Duration(sh.core.now()))
	if sh.clock.Late() {
		sh.core.meter.lateTicks.Inc()
	}
	if len(sh.dirty) > 0 && now.Sub(sh.flushed) >= cursorEvery {
		sh.flushed = now
		sh.flushCursors()
	}
	slots := sh.slab.Slots()
	actions := 0
	for n := slots/sweepTicks + 1; n > 0 && actions < sweepActions; n-- {
		if sh.sweep.next >= slots {
			sh.sweep.next = 0
			sh.sweep.pass++
			sh.sweep.sampleAt = sh.sweep.pass % (1 + slots/sampleMost)
			return
		}
		slot := sh.sweep.next
		sh.sweep.next++
		if slot == sh.sweep.sampleAt {
			sh.sample(sh.slab.At(slot), now)
		}
		early := now.Before(sh.slab.Plan(slot).Due)
		if early && (slot+sh.sweep.pass)%blindEvery != 0 {
			continue // nothing was read of the session itself
		}
		s := sh.slab.At(slot)
		if s.State == session.Free || early && s.State != session.Active {
			continue
		}
		if sh.visit(s, now) {
			actions++
		}
	}
}

// visit does what is due for one connection and reports whether anything was.
func (sh *Shard) visit(s *session.Session, now liveness.Time) (acted bool) {
	defer func() {
		if v := recover(); v != nil {
			sh.panicked(s, v)
			acted = true
		}
	}()
	switch s.State {
	case session.Opened, session.Authenticating, session.Starting:
		if !sh.clock.Grace() {
			sh.refuseConn(s, protocol.CodeConnectTimeout)
			return true
		}
	case session.Closing:
		if !now.Before(s.Checked) {
			sh.condemn(s, protocol.CodeEOF)
			return true
		}
		sh.plan(s).Due = s.Checked
		sh.shut(s)
	case session.Active:
		acted = sh.visitActive(s, now)
		if s.State == session.Active {
			sh.plan(s).Due = sh.due(s, now)
		}
	}
	return acted
}

func (sh *Shard) plan(s *session.Session) *session.Plan { return sh.slab.Plan(s.ID.Slot()) }

// soon has the sweep visit a session at a time that may be before what it reckons with.
func (sh *Shard) soon(s *session.Session, at liveness.Time) {
	if s.State == session.Active {
		p := sh.plan(s)
		p.Due = min(p.Due, at)
	}
}

// shortly is when a session is visited again of which something is expected.
func shortly(now liveness.Time) liveness.Time { return now.Add(time.Second) }

// due is the earliest time at which a visit may find something to do, as long as nothing happens; what happens and brings
// it forward calls soon.
func (sh *Shard) due(s *session.Session, now liveness.Time) liveness.Time {
	app := s.Line.App(now)
	if s.Has(session.Blocked) || s.Line.Wakeable() != s.Line.Marked() || sh.conns.of(s).OutboundBuffered() > 0 {
		return shortly(now)
	}
	at := s.Line.Path(now).Due(sh.pathFacts(s))
	if s.Expiry != 0 {
		at = min(at, s.Expiry)
	}
	if s.Has(session.Routed) {
		at = min(at, sh.plan(s).RouteDue)
	}
	if s.Has(session.Unfinished) {
		at = min(at, sh.bodies[s.ID.Slot()].began.Add(frameTime))
	}
	if s.Sent > s.Acked {
		at = min(at, liveness.NextAppDue(app, appFacts(s, 0, false), now))
	}
	return max(at, shortly(now))
}

func (sh *Shard) visitActive(s *session.Session, now liveness.Time) (acted bool) {
	switch {
	case s.Expiry != 0 && !now.Before(s.Expiry):
		sh.refuseConn(s, protocol.CodeTokenExpired)
		return true
	case sh.isStuck(s, now) && !sh.clock.Grace():
		sh.condemn(s, protocol.CodeSlowConsumer)
		return true
	case s.Has(session.Unfinished) && now.Sub(sh.bodies[s.ID.Slot()].began) >= frameTime && !sh.clock.Grace():
		sh.refuseConn(s, protocol.CodeSilent)
		return true
	}
	if acted = sh.judgePath(s, now); s.State != session.Active {
		return true
	}
	if acted = sh.judgeApp(s, now) || acted; s.State != session.Active {
		return true
	}
	sh.refreshRoute(s, now, s.Line.Mark())
	if s.Has(session.Blocked) {
		s.Clear(session.Blocked)
		sh.pump(s, nil)
		return acted || !s.Has(session.Blocked) // a crowd that stays blocked must not hold up the sweep
	}
	return acted
}

// sample measures how far the device is behind. With many sessions each pass measures a part of them in turn.
func (sh *Shard) sample(s *session.Session, now liveness.Time) {
	sh.sweep.sampleAt += 1 + sh.slab.Slots()/sampleMost
	if s.State != session.Active {
		return
	}
	var age time.Duration
	if s.Sent > s.Acked {
		age = now.Sub(s.Progress)
	}
	sh.core.meter.lag.Update(float64(s.Lag()))
	sh.core.meter.unacked.Update(age.Seconds())
}
