package liveness

import "time"

// Path is what the server believes of the line to a session's device.
type Path uint8

const (
	PathActive  Path = iota // the last frame is not too long ago
	PathProbing             // silent past its limit; Probes are out
	PathSuspect             // no Probe was answered; still pushed to, and wakeable
	PathClosed              // the end: nothing restores it
)

var paths = [...]string{"active", "probing", "suspect", "closed"}

func (p Path) String() string { return paths[p] }

// PathEvent is what moves a path.
type PathEvent uint8

const (
	PathSwept PathEvent = iota // time has passed
	PathFrame                  // a frame came
	PathWrote                  // a frame was written that is no Pong, Echo or Probe
)

// PathAct is what the caller does after a step.
type PathAct uint8

const (
	PathRest  PathAct = iota
	SendEcho          // write an Echo
	SendProbe         // write a Probe
	PathClose         // close the session
)

// PathState is a session's path.
type PathState struct {
	Path   Path
	Again  bool // the second Probe was sent
	Echoed bool // the Echo was sent
	Echo   int  // silence granted to a trial, in seconds, 0 = there is none

	// Since is when Probing or Suspect began, rounded up to a second.
	Since Time
}

// PathFacts is what the step of a path depends on.
type PathFacts struct {
	LastIn     Time          // last frame from the device, before the one that a PathFrame reports
	Interval   time.Duration // the heartbeat in force
	Background bool
	Hold       Hold
	Grace      bool     // the loop was late: silence is its own doing
	Info       PathInfo // only looked at while Suspicious
}

const (
	probeAgain = 10 * time.Second // the second Probe
	probing    = 20 * time.Second // from the first Probe to Suspect
	leakAfter  = time.Hour        // past the hold
	echoAnswer = 6 * time.Second  // a Ping this soon answers the Echo
)

// NextPath takes one step. It is a function of its arguments alone. Frames restore a path and silence moves it. A broken
// connection (RST, a write error, ETIMEDOUT) ends the session at once, and there is nothing left to step.
func NextPath(s PathState, e PathEvent, f PathFacts, now Time) (PathState, PathAct) {
	switch {
	case s.Path == PathClosed:
		return s, PathRest
	case e == PathFrame:
		return PathState{}, PathRest
	case e == PathWrote:
		return s.wrote(), PathRest
	case s.Path == PathActive:
		return s.sweepActive(f, now)
	case f.Grace:
		return s, PathRest
	case s.Path == PathProbing:
		return s.sweepProbing(f, now)
	case now.Sub(s.Since) >= s.hold(f):
		return PathState{Path: PathClosed}, PathClose
	}
	return s, PathRest
}

// wrote cancels a trial: its silence was broken from here. Once the Echo is out, the limit stays: the answer to it
// is due.
func (s PathState) wrote() PathState {
	if !s.Echoed {
		s.Echo = 0
	}
	return s
}

// sweepActive sends an Echo also when the loop was late: it judges nobody, and the client would blame its network if it
// did not come.
func (s PathState) sweepActive(f PathFacts, now Time) (PathState, PathAct) {
	switch {
	case now.Sub(f.LastIn) > s.limit(f) && !f.Grace:
		return PathState{Path: PathProbing, Since: now.wholeSecond()}, SendProbe
	case s.Echo > 0 && !s.Echoed && now.Sub(f.LastIn) >= s.echo():
		s.Echoed = true
		return s, SendEcho
	}
	return s, PathRest
}

// sweepProbing waits for an answer. Word from the kernel that nothing arrives spares the second wait.
func (s PathState) sweepProbing(f PathFacts, now Time) (PathState, PathAct) {
	waited := now.Sub(s.Since)
	switch {
	case waited >= probing, waited >= probeAgain && f.Info.Verdict() == PathDead:
		return PathState{Path: PathSuspect, Since: now.wholeSecond()}, PathRest
	case waited >= probeAgain && !s.Again:
		s.Again = true
		return s, SendProbe
	}
	return s, PathRest
}

// hold is how long the session stays Suspect. Proof that the device's kernel is there makes a foreground hold as long as
// one in background; nothing makes that longer, for routes are not kept alive beyond it.
func (s PathState) hold(f PathFacts) time.Duration {
	v := f.Info.Verdict()
	return f.Hold.For(f.Background || v == AppFrozen || v == SlowReader, f.Interval)
}

func (s PathState) echo() time.Duration { return time.Duration(s.Echo) * time.Second }

// limit is the silence allowed [P-6.23]: a trial that was granted raises it until the next frame.
func (s PathState) limit(f PathFacts) time.Duration { return Limit(max(f.Interval, s.echo())) }

// Suspicious says that the PathInfo is worth asking for.
func (s PathState) Suspicious() bool { return s.Path == PathProbing || s.Path == PathSuspect }

// Ask starts a trial: c seconds of silence from the frame that was just heard. It is called after the Pong was
// written, and only for what was granted.
func (s PathState) Ask(c int) PathState {
	if s.Path == PathActive {
		s.Echo, s.Echoed = c, false
	}
	return s
}

// Proven returns the silence that the network bore, in seconds, when a Ping comes: it comes at once only from a device
// that saw the Echo; one that did not waits twelve seconds. 0 = nothing is proven. Asked before the step for that Ping.
func (s PathState) Proven(lastIn, now Time) int {
	if s.Echoed && now.Sub(lastIn) <= s.echo()+echoAnswer {
		return s.Echo
	}
	return 0
}

// Due returns the earliest time at which a PathSwept may do something, as long as the facts stay. A session that is
// Closed is due for nothing.
func (s PathState) Due(f PathFacts) Time {
	switch {
	case s.Path == PathClosed:
		return ^Time(0)
	case s.Path == PathSuspect:
		return s.Since.Add(s.hold(f))
	case s.Path == PathProbing && s.Again:
		return s.Since.Add(probing)
	case s.Path == PathProbing:
		return s.Since.Add(probeAgain)
	case s.Echo > 0 && !s.Echoed:
		return f.LastIn.Add(s.echo()) // before the limit, which is raised above it
	default:
		return f.LastIn.Add(s.limit(f)) + 1
	}
}

// Leaked says that a session is past every hold by more than an hour, whatever its state claims. It looks at silence
// alone, so that it also finds what the machine lost. Whoever calls it closes the session and counts it; the count must
// stay 0.
func Leaked(s PathState, f PathFacts, now Time) bool {
	if f.Grace {
		return false
	}
	return now.Sub(f.LastIn) > s.limit(f)+probing+f.Hold.For(true, f.Interval)+leakAfter
}
