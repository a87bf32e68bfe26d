package server

import (
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
	"lifeline/server/session"
)

// heard notes that bytes came: the path works towards us. A session with nothing in flight also has its head checked, at
// most once in a heartbeat interval, so that a lost hint heals without the client's help.
func (sh *Shard) heard(s *session.Session) {
	now := sh.clock.Now()
	if s.State != session.Active {
		s.LastIn = now
		return
	}
	path := s.Line.Path(now)
	sh.proven = path.Proven(s.LastIn, now)
	before := path.Path
	path, _ = liveness.NextPath(path, liveness.PathFrame, sh.pathFacts(s), now)
	sh.setPath(s, path)
	s.LastIn = now
	if before != liveness.PathActive {
		sh.soon(s, now)
	}
	sh.stepApp(s, liveness.AppFrame, before)
	if s.NextInterval != 0 {
		s.Interval, s.NextInterval = s.NextInterval, 0
		sh.soon(s, now.Add(liveness.Limit(seconds(s.Interval))))
	}
	if s.Acked == s.Head && !s.Has(session.Reading) && now.Sub(s.Checked) >= seconds(s.Interval) {
		s.Checked = now
		sh.readInbox(s, 0)
	}
}

func seconds(n uint16) time.Duration { return time.Duration(n) * time.Second }

// background reports whether the app is not in the foreground, as far as it has said.
func background(s *session.Session) bool {
	a := protocol.Activity(s.Activity)
	return a == protocol.Background || a == protocol.Suspending
}

// suspending reports whether the app has said that it is about to be suspended.
func suspending(s *session.Session) bool { return protocol.Activity(s.Activity) == protocol.Suspending }

func (sh *Shard) pathFacts(s *session.Session) liveness.PathFacts {
	return liveness.PathFacts{LastIn: s.LastIn, Interval: seconds(s.Interval), Background: background(s),
		Hold: sh.core.opts.Heartbeat.Hold, Grace: sh.clock.Grace()}
}

func appFacts(s *session.Session, path liveness.Path, grace bool) liveness.AppFacts {
	return liveness.AppFacts{InFlight: s.Sent > s.Acked, Progress: s.Progress, LastIn: s.LastIn, Path: path, Grace: grace}
}

// request is what the heartbeat of a session depends on.
func (sh *Shard) request(s *session.Session) liveness.Request {
	platform := protocol.Platform(s.Platform)
	return liveness.Request{
		Background: background(s),
		Desktop:    platform == protocol.Desktop || s.Has(session.Wired),
		Slow:       s.Has(session.Slow),
		Suspends:   platform == protocol.IOS,
		Low:        s.Line.Low(),
	}
}

// ping answers with a Pong, in order [P-6.25]. It may ask for an Echo after a silence [P-6.26], and it may prove one: then
// the heartbeat grows by what the network has borne.
func (sh *Shard) ping(s *session.Session, b []byte) {
	f := &sh.frames.ping
	if err := f.Parse(b); err != nil {
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	}
	now := sh.clock.Now()
	if background(s) && !s.TakePing(now) {
		sh.refuseConn(s, protocol.CodeTooManyPings)
		return
	}
	changed := false
	if sh.proven > 0 {
		s.Line.SetLow(time.Duration(sh.proven) * time.Second)
		changed = sh.grant(s)
	}
	heartbeat := sh.heartbeat(s)
	trial := int(f.EchoAfterS)
	if trial > 0 && !sh.core.opts.Heartbeat.Try(&s.Line, sh.request(s), trial, now) {
		heartbeat.EchoLimitS, changed, trial = 0, true, 0 // refused, and the Pong says so
	}
	sh.pong(s, &heartbeat, changed)
	if trial > 0 {
		s.Line.SetPath(s.Line.Path(now).Ask(trial))
		sh.soon(s, now.Add(time.Duration(trial)*time.Second))
	}
}

// state notes that the app went to the foreground or left it [P-6.28], and grants the heartbeat that goes with it. An
// app that is about to be suspended can be reached by a wake-up only, and the table is told at once.
func (sh *Shard) state(s *session.Session, b []byte) {
	f := &sh.frames.state
	if err := f.Parse(b); err != nil {
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	}
	was := suspending(s)
	s.Activity = narrowed(f.Activity)
	sh.grant(s)
	heartbeat := sh.heartbeat(s)
	sh.pong(s, &heartbeat, true)
	if was != suspending(s) {
		sh.rewriteRoute(s, sh.clock.Now())
	}
}

// rewriteRoute has the session's record follow the app's activity: at once when it is about to be suspended, within about
// a second when it is back. Whatever the client says in that second is one write, or one that changes its mind without end
// would fill the registrar's queue.
func (sh *Shard) rewriteRoute(s *session.Session, now liveness.Time) {
	switch {
	case !s.Has(session.Routed) || sh.plan(s).RouteDue <= shortly(now):
		// there is none, or the sweep is about to
	case suspending(s):
		sh.refreshRoute(s, now, true)
	default:
		sh.plan(s).RouteDue = shortly(now)
		sh.soon(s, shortly(now))
	}
}

// grant sets the heartbeat and reports whether it is another: a larger one counts from the Pong that says so, a smaller
// one from the next inbound frame, for the client may not have read of it [P-6.24].
func (sh *Shard) grant(s *session.Session) (changed bool) {
	interval := sh.interval(s)
	changed = interval != s.Interval
	s.NextInterval = 0
	if interval >= s.Interval {
		s.Interval = interval
	} else {
		s.NextInterval = interval
	}
	return changed
}

func (sh *Shard) pong(s *session.Session, heartbeat *protocol.Heartbeat, withHeartbeat bool) {
	f := &sh.frames.pong
	*f = protocol.Pong{Head: s.Head, HasHeartbeat: withHeartbeat}
	if withHeartbeat {
		f.Heartbeat = *heartbeat
	}
	out := sh.out(s)
	*out = f.Append(*out)
	sh.core.meter.framesOut[protocol.TypePong].Inc()
}

// interval is the heartbeat that goes with what the client has said of itself, in seconds.
func (sh *Shard) interval(s *session.Session) uint16 {
	return uint16(sh.core.opts.Heartbeat.Grant(sh.request(s)) / time.Second)
}

// heartbeat is what the client is told of its heartbeat.
func (sh *Shard) heartbeat(s *session.Session) protocol.Heartbeat {
	interval := s.Interval
	if s.NextInterval != 0 {
		interval = s.NextInterval
	}
	return protocol.Heartbeat{IntervalS: uint32(interval), WindowS: uint32(liveness.Window(seconds(interval)) / time.Second),
		EchoLimitS: uint32(sh.core.opts.Heartbeat.EchoLimit(sh.request(s)) / time.Second), Activity: protocol.Activity(s.Activity)}
}

// wrote counts a frame that was written, and cancels an experiment with silence: this frame has broken it [P-6.26].
func (sh *Shard) wrote(s *session.Session, t protocol.Type) {
	sh.core.meter.framesOut[t].Inc()
	if now := sh.clock.Now(); s.State == session.Active {
		path, _ := liveness.NextPath(s.Line.Path(now), liveness.PathWrote, liveness.PathFacts{}, now)
		s.Line.SetPath(path)
	}
}

// probe asks the client whether it is there [P-6.27].
func (sh *Shard) probe(s *session.Session) {
	out := sh.out(s)
	*out = (&protocol.Probe{}).Append(*out)
	sh.core.meter.framesOut[protocol.TypeProbe].Inc()
}

// judgePath takes a step of the path's machine as time passes, and reports whether anything was done.
func (sh *Shard) judgePath(s *session.Session, now liveness.Time) (acted bool) {
	was := s.Line.Path(now)
	facts := sh.pathFacts(s)
	if liveness.Leaked(was, facts, now) {
		sh.core.meter.leaked.Inc()
		sh.condemn(s, protocol.CodeSilent)
		return true
	}
	if now.Before(was.Due(facts)) && !was.Suspicious() {
		return false
	}
	if was.Suspicious() {
		facts.Info = sh.loop.PathInfo(sh.conns.of(s))
	}
	path, act := liveness.NextPath(was, liveness.PathSwept, facts, now)
	sh.setPath(s, path)
	if path.Path != was.Path {
		sh.core.meter.paths[path.Path].Inc()
	}
	switch act {
	case liveness.SendEcho:
		out := sh.out(s)
		*out = (&protocol.Echo{}).Append(*out)
		sh.core.meter.framesOut[protocol.TypeEcho].Inc()
	case liveness.SendProbe:
		sh.probe(s)
	case liveness.PathClose:
		if facts.Info.Verdict() == liveness.PathDead {
			sh.condemn(s, protocol.CodeSilent) // nothing that is written arrives
		} else {
			sh.refuseConn(s, protocol.CodeSilent)
		}
	}
	return act != liveness.PathRest
}

// judgeApp takes a step of the app's machine as time passes, and reports whether anything was done.
func (sh *Shard) judgeApp(s *session.Session, now liveness.Time) (acted bool) {
	act := sh.stepApp(s, liveness.AppSwept, s.Line.Path(now).Path)
	switch act {
	case liveness.AppNudge:
		sh.core.meter.lagging.Inc()
		sh.probe(s)
	case liveness.AppClose:
		sh.refuseConn(s, protocol.CodeSlowConsumer)
	}
	return act != liveness.AppRest
}
