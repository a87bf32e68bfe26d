package liveness

import "time"

// AppEvent is what moves the judgement of an app.
type AppEvent uint8

const (
	AppSwept    AppEvent = iota // time has passed
	AppFrame                    // a frame came that acknowledged nothing new
	AppProgress                 // the acknowledged position moved
)

// AppAct is what the caller does after a step.
type AppAct uint8

const (
	AppRest  AppAct = iota
	AppNudge        // write a Probe, and make the device wakeable once
	AppClose        // Close with SLOW_CONSUMER
)

// AppState says whether a session's app does its part.
type AppState struct {
	Lagging bool // the line works or seems to, and the app acknowledges nothing

	// Heard is the first frame after the oldest unacknowledged push, rounded up to a second, 0 = none came.
	Heard Time
}

// AppFacts is what the step of an app depends on.
type AppFacts struct {
	InFlight bool // something is pushed and not acknowledged
	Progress Time // last progress, or the first push after everything was acknowledged
	LastIn   Time // last frame from the device, this one included
	Path     Path // before the step that this frame causes
	Grace    bool // the loop was late
}

const (
	lagSilent   = 10 * time.Second // no frame and no progress
	lagStalled  = 60 * time.Second // frames and no progress
	slowAfter   = 10 * time.Minute // no progress since Heard
	slowBetween = 60 * time.Second // Heard and the latest frame lie apart
)

// NextApp takes one step. It is a function of its arguments alone. Only progress clears lagging, so an app that hangs
// and still pings does not flip in and out. Only a line that works ends a session here: silence belongs to the path.
func NextApp(s AppState, e AppEvent, f AppFacts, now Time) (AppState, AppAct) {
	switch {
	case !f.InFlight || e == AppProgress:
		return AppState{}, AppRest
	case e == AppFrame:
		if s.Heard == 0 || f.Path == PathSuspect {
			s.Heard = now.wholeSecond()
		}
		return s, AppRest
	case f.Grace:
		return s, AppRest
	case s.slow(f, now):
		return s, AppClose
	case !s.Lagging && f.lags(now):
		s.Lagging = true
		return s, AppNudge
	}
	return s, AppRest
}

func (s AppState) slow(f AppFacts, now Time) bool {
	return s.Heard != 0 && f.Path == PathActive && now.Sub(s.Heard) >= slowAfter && f.LastIn.Sub(s.Heard) >= slowBetween
}

func (f AppFacts) lags(now Time) bool {
	latest := max(f.Progress, f.LastIn)
	return now.Sub(latest) >= lagSilent || now.Sub(f.Progress) >= lagStalled
}

// NextAppDue returns the earliest time at which an AppSwept may do something while pushes are in flight, as long as the
// facts stay.
func NextAppDue(s AppState, f AppFacts, now Time) Time {
	if !s.Lagging {
		return min(max(f.Progress, f.LastIn).Add(lagSilent), f.Progress.Add(lagStalled))
	}
	if s.Heard != 0 {
		return max(s.Heard.Add(slowAfter), now)
	}
	return now.Add(slowBetween) // until a frame is heard, nothing can end the session
}
