package server

import (
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
	"lifeline/server/session"
)

// heard notes that bytes came: the line works towards us. A session with nothing in flight also has its head checked, at
// most once in a heartbeat interval, so that a lost hint heals without the client's help.
func (sh *Shard) heard(s *session.Session) {
	now := sh.clock.Now()
	s.LastIn = now
	if s.State != session.Active {
		return
	}
	if s.NextInterval != 0 {
		s.Interval, s.NextInterval = s.NextInterval, 0
	}
	if s.Acked == s.Head && !s.Has(session.Reading) && now.Sub(s.Checked) >= time.Duration(s.Interval)*time.Second {
		s.Checked = now
		sh.readInbox(s, 0)
	}
}

// ping answers with a Pong, in order.
func (sh *Shard) ping(s *session.Session, b []byte) {
	if err := sh.frames.ping.Parse(b); err != nil {
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	}
	sh.pong(s, false)
}

// state notes that the app went to the foreground or left it, and grants the heartbeat that goes with it.
func (sh *Shard) state(s *session.Session, b []byte) {
	f := &sh.frames.state
	if err := f.Parse(b); err != nil {
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	}
	s.Activity = uint8(f.Activity)
	sh.grant(s, sh.interval(s))
	sh.pong(s, true)
}

// grant sets the heartbeat: a larger one counts from the Pong that says so, a smaller one from the next inbound frame,
// for the client may not have read of it.
func (sh *Shard) grant(s *session.Session, interval uint16) {
	s.NextInterval = 0
	if interval >= s.Interval {
		s.Interval = interval
	} else {
		s.NextInterval = interval
	}
}

func (sh *Shard) pong(s *session.Session, withHeartbeat bool) {
	f := &sh.frames.pong
	*f = protocol.Pong{Head: s.Head, HasHeartbeat: withHeartbeat}
	if withHeartbeat {
		f.Heartbeat = sh.heartbeat(s)
	}
	out := sh.out(s)
	*out = f.Append(*out)
	sh.core.meter.framesOut[protocol.TypePong].Inc()
}

// interval is the heartbeat that goes with what the client has said of itself, in seconds.
func (sh *Shard) interval(s *session.Session) uint16 {
	activity := protocol.Activity(s.Activity)
	return uint16(sh.core.opts.Heartbeat.Grant(liveness.Request{
		Background: activity == protocol.Background || activity == protocol.Suspending,
		Desktop:    protocol.Platform(s.Platform) == protocol.Desktop,
	}) / time.Second)
}

// heartbeat is what the client is told of its heartbeat.
func (sh *Shard) heartbeat(s *session.Session) protocol.Heartbeat {
	interval := s.Interval
	if s.NextInterval != 0 {
		interval = s.NextInterval
	}
	window := liveness.Window(time.Duration(interval) * time.Second)
	return protocol.Heartbeat{IntervalS: uint32(interval), WindowS: uint32(window / time.Second),
		Activity: protocol.Activity(s.Activity)}
}
