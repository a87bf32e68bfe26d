package server

import (
	"sync/atomic"

	"lifeline/server/liveness"
	"lifeline/server/session"
)

// doubts counts the sessions of a loop that are not simply alive, for the gauges. The loop writes.
type doubts struct {
	paths   [liveness.PathClosed + 1]atomic.Int64 // of probing and suspect
	lagging atomic.Int64
}

func (d *doubts) moved(from, to liveness.Path) {
	if from != to {
		d.paths[from].Add(-1)
		d.paths[to].Add(1)
	}
}

// setPath keeps the path of an active session.
func (sh *Shard) setPath(s *session.Session, path liveness.PathState) {
	sh.doubts.moved(s.Line.Path(sh.clock.Now()).Path, path.Path)
	s.Line.SetPath(path)
}

// stepApp takes a step of the app's machine of an active session. path is the session's before the step.
func (sh *Shard) stepApp(s *session.Session, e liveness.AppEvent, path liveness.Path) liveness.AppAct {
	now := sh.clock.Now()
	was := s.Line.App(now)
	app, act := liveness.NextApp(was, e, appFacts(s, path, sh.clock.Grace()), now)
	s.Line.SetApp(app)
	switch {
	case app.Lagging && !was.Lagging:
		sh.doubts.lagging.Add(1)
	case was.Lagging && !app.Lagging:
		sh.doubts.lagging.Add(-1)
	}
	return act
}

// leaveDoubt ends what is believed of an active session.
func (sh *Shard) leaveDoubt(s *session.Session) {
	sh.setPath(s, liveness.PathState{Path: liveness.PathClosed})
	if s.Line.App(sh.clock.Now()).Lagging {
		s.Line.SetApp(liveness.AppState{})
		sh.doubts.lagging.Add(-1)
	}
}

// doubted adds up the loops' counts. Any goroutine.
func (c *Core) doubted(count func(d *doubts) *atomic.Int64) func() int {
	return func() (n int) {
		for _, sh := range c.shards {
			n += int(count(&sh.doubts).Load())
		}
		return n
	}
}
