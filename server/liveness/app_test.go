package liveness

import (
	"testing"
	"time"
)

// TestNextApp has every pair of a state and an event. A push went out at 0 with nothing before it.
func TestNextApp(t *testing.T) {
	fine := AppState{}
	heard := AppState{Heard: at(5 * sec)}
	lags := AppState{Lagging: true}
	lagsHeard := AppState{Lagging: true, Heard: at(5 * sec)}

	flight := func(lastIn time.Duration, path Path) AppFacts {
		return AppFacts{InFlight: true, Progress: at(0), LastIn: at(lastIn), Path: path}
	}
	late := flight(-100*sec, PathActive)
	late.Grace = true

	for _, tt := range []struct {
		name  string
		from  AppState
		event AppEvent
		facts AppFacts
		now   time.Duration
		to    AppState
		act   AppAct
	}{
		{"nothing in flight", fine, AppSwept, AppFacts{LastIn: at(-900 * sec)}, 0, fine, AppRest},
		{"a moment after the push", fine, AppSwept, flight(-100*sec, PathActive), 9900 * ms, fine, AppRest},
		{"silent after the push", fine, AppSwept, flight(-100*sec, PathActive), 10 * sec, lags, AppNudge},
		{"silent, but the loop was late", fine, AppSwept, late, 100 * sec, fine, AppRest},
		{"silent on a doubtful path", fine, AppSwept, flight(-100*sec, PathSuspect), 10 * sec, lags, AppNudge},
		{"a frame", fine, AppFrame, flight(5*sec, PathActive), 5 * sec, heard, AppRest},
		{"a frame in between", fine, AppFrame, flight(4300*ms, PathActive), 4300 * ms, heard, AppRest},
		{"a frame with nothing in flight", fine, AppFrame, AppFacts{LastIn: at(5 * sec)}, 5 * sec, fine, AppRest},
		{"progress", fine, AppProgress, flight(5*sec, PathActive), 5 * sec, fine, AppRest},

		{"a frame not long ago", heard, AppSwept, flight(5*sec, PathActive), 14900 * ms, heard, AppRest},
		{"a frame long ago", heard, AppSwept, flight(5*sec, PathActive), 15 * sec, lagsHeard, AppNudge},
		{"frames and no progress", heard, AppSwept, flight(59*sec, PathActive), 59900 * ms, heard, AppRest},
		{"frames and no progress for long", heard, AppSwept, flight(59*sec, PathActive), 60 * sec, lagsHeard, AppNudge},
		{"the first frame counts", heard, AppFrame, flight(50*sec, PathActive), 50 * sec, heard, AppRest},
		{"progress after a frame", heard, AppProgress, flight(50*sec, PathActive), 50 * sec, fine, AppRest},
		{"everything acknowledged", heard, AppProgress, AppFacts{LastIn: at(50 * sec)}, 50 * sec, fine, AppRest},

		{"one nudge", lags, AppSwept, flight(-100*sec, PathActive), 70 * sec, lags, AppRest},
		{"silence never closes", lags, AppSwept, flight(-100*sec, PathActive), 7000 * sec, lags, AppRest},
		{"a frame does not clear it", lags, AppFrame, flight(5*sec, PathActive), 5 * sec, lagsHeard, AppRest},
		{"a frame that ends Suspect counts anew", lagsHeard, AppFrame, flight(500*sec, PathSuspect), 500 * sec,
			AppState{Lagging: true, Heard: at(500 * sec)}, AppRest},
		{"progress clears it", lags, AppProgress, flight(5*sec, PathActive), 5 * sec, fine, AppRest},

		{"nine minutes", lagsHeard, AppSwept, flight(600*sec, PathActive), 604900 * ms, lagsHeard, AppRest},
		{"ten minutes", lagsHeard, AppSwept, flight(600*sec, PathActive), 605 * sec, lagsHeard, AppClose},
		{"ten minutes, but the loop was late", lagsHeard, AppSwept, AppFacts{InFlight: true, Progress: at(0), LastIn: at(600 * sec), Grace: true},
			605 * sec, lagsHeard, AppRest},
		{"ten minutes and one frame", lagsHeard, AppSwept, flight(5*sec, PathActive), 900 * sec, lagsHeard, AppRest},
		{"ten minutes and two frames close together", lagsHeard, AppSwept, flight(64900*ms, PathActive), 900 * sec, lagsHeard, AppRest},
		{"ten minutes and two frames apart", lagsHeard, AppSwept, flight(65*sec, PathActive), 900 * sec, lagsHeard, AppClose},
		{"the path is doubtful", lagsHeard, AppSwept, flight(65*sec, PathSuspect), 900 * sec, lagsHeard, AppRest},
		{"the path is being asked", lagsHeard, AppSwept, flight(65*sec, PathProbing), 900 * sec, lagsHeard, AppRest},
		{"progress in the last moment", lagsHeard, AppProgress, flight(604*sec, PathActive), 604 * sec, fine, AppRest},
	} {
		if to, act := NextApp(tt.from, tt.event, tt.facts, at(tt.now)); to != tt.to || act != tt.act {
			t.Errorf("%s: %+v, act %d, want %+v, act %d", tt.name, to, act, tt.to, tt.act)
		}
	}
}

// run sweeps every second an app that pings every interval and acknowledges where acks says so, and returns how often it
// was nudged and when it was closed, 0 = never.
func run(interval, most time.Duration, acks func(time.Duration) bool) (nudges int, closed time.Duration) {
	var s AppState
	f := AppFacts{InFlight: true, Progress: at(0), LastIn: at(0)}
	for now := time.Duration(0); now < most; now += sec {
		var act AppAct
		switch {
		case acks(now):
			f.Progress, f.LastIn = at(now), at(now)
			s, act = NextApp(s, AppProgress, f, at(now))
		case now > 0 && now%interval == 0:
			f.LastIn = at(now)
			s, act = NextApp(s, AppFrame, f, at(now))
		default:
			s, act = NextApp(s, AppSwept, f, at(now))
		}
		switch act {
		case AppNudge:
			nudges++
		case AppClose:
			return nudges, now
		}
	}
	return nudges, 0
}

func TestHungAppIsNudgedOnceAndClosed(t *testing.T) {
	nudges, closed := run(60*sec, time.Hour, func(time.Duration) bool { return false })
	if nudges != 1 || closed != 661*sec {
		t.Errorf("%d nudges, closed at %v; want 1, and ten minutes after the first ping", nudges, closed)
	}
}

// A phone on 2G that takes 20 s for a window is slow, not dead.
func TestSlowReaderLives(t *testing.T) {
	nudges, closed := run(240*sec, 3*time.Hour, func(now time.Duration) bool { return now > 0 && now%(20*sec) == 0 })
	if closed != 0 {
		t.Errorf("closed at %v", closed)
	}
	if nudges == 0 {
		t.Error("ten seconds of silence nudged nobody")
	}
}

func TestFreshStartAfterProgress(t *testing.T) {
	_, closed := run(60*sec, 3*time.Hour, func(now time.Duration) bool { return now > 0 && now%(9*time.Minute) == 0 })
	if closed != 0 {
		t.Errorf("closed at %v", closed)
	}
}
