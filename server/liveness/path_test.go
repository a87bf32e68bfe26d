package liveness

import (
	"math/rand/v2"
	"testing"
	"time"
)

var (
	frozen = PathInfo{Known: true}
	slow   = PathInfo{Known: true, Queued: 100, Backoff: 3, AckAge: sec}
	dead   = PathInfo{Known: true, Queued: 100, Backoff: 3, AckAge: 60 * sec}
)

// at is a moment of a clock that has run for a while.
func at(d time.Duration) Time { return Time(100_000).Add(d) }

// TestNextPath has every pair of a state and an event. The session was heard at 0 and pings every 240 s in background,
// so 264 s of silence are its limit.
func TestNextPath(t *testing.T) {
	active := PathState{}
	asking := PathState{Echo: 360}
	asked := PathState{Echo: 360, Echoed: true}
	probing := PathState{Path: PathProbing, Since: at(265 * sec)}
	again := PathState{Path: PathProbing, Since: at(265 * sec), Again: true}
	suspect := PathState{Path: PathSuspect, Since: at(285 * sec)}
	closed := PathState{Path: PathClosed}

	back := PathFacts{LastIn: at(0), Interval: 240 * sec, Background: true, Hold: DefaultPolicy().Hold}
	front := back
	front.Interval, front.Background = 60*sec, false
	with := func(f PathFacts, i PathInfo) PathFacts {
		f.Info = i
		return f
	}
	late := back
	late.Grace = true

	for _, tt := range []struct {
		name  string
		from  PathState
		event PathEvent
		facts PathFacts
		now   time.Duration
		to    PathState
		act   PathAct
	}{
		{"in time", active, PathSwept, back, 240 * sec, active, PathRest},
		{"at the limit", active, PathSwept, back, 264 * sec, active, PathRest},
		{"past the limit", active, PathSwept, back, 264*sec + 100*ms, probing, SendProbe},
		{"past the limit, but the loop was late", active, PathSwept, late, 3000 * sec, active, PathRest},
		{"past the limit in foreground", active, PathSwept, front, 76 * sec, PathState{Path: PathProbing, Since: at(76 * sec)}, SendProbe},
		{"active hears", active, PathFrame, back, 10 * sec, active, PathRest},
		{"active hears late", active, PathFrame, back, 900 * sec, active, PathRest},
		{"active writes", active, PathWrote, back, 10 * sec, active, PathRest},

		{"a trial raises the limit", asking, PathSwept, back, 359900 * ms, asking, PathRest},
		{"the trial is over", asking, PathSwept, back, 360 * sec, asked, SendEcho},
		{"the trial is over, and the loop was late", asking, PathSwept, late, 360 * sec, asked, SendEcho},
		{"the Echo is sent once, and the loop was late", asked, PathSwept, late, 900 * sec, asked, PathRest},
		{"a frame cancels it", asking, PathFrame, back, 10 * sec, active, PathRest},
		{"a push cancels it", asking, PathWrote, back, 10 * sec, active, PathRest},
		{"the Echo is sent once", asked, PathSwept, back, 365 * sec, asked, PathRest},
		{"the answer has the raised limit", asked, PathSwept, back, 396 * sec, asked, PathRest},
		{"no answer", asked, PathSwept, back, 396*sec + 100*ms, PathState{Path: PathProbing, Since: at(397 * sec)}, SendProbe},
		{"the answer", asked, PathFrame, back, 361 * sec, active, PathRest},
		{"a push behind the Echo", asked, PathWrote, back, 361 * sec, asked, PathRest},
		{"a short trial does not lower the limit", PathState{Echo: 100, Echoed: true}, PathSwept, back, 264 * sec,
			PathState{Echo: 100, Echoed: true}, PathRest},

		{"the first Probe is out", probing, PathSwept, back, 274 * sec, probing, PathRest},
		{"the second Probe", probing, PathSwept, back, 275 * sec, again, SendProbe},
		{"the second Probe is out", again, PathSwept, back, 284 * sec, again, PathRest},
		{"no answer to either", again, PathSwept, back, 285 * sec, suspect, PathRest},
		{"the sweep was busy", probing, PathSwept, back, 285 * sec, suspect, PathRest},
		{"no answer, but the loop was late", again, PathSwept, late, 300 * sec, again, PathRest},
		{"the kernel knows it is dead, early", probing, PathSwept, with(back, dead), 274 * sec, probing, PathRest},
		{"the kernel knows it is dead", probing, PathSwept, with(back, dead), 275 * sec, PathState{Path: PathSuspect, Since: at(275 * sec)}, PathRest},
		{"the kernel knows it is frozen", probing, PathSwept, with(back, frozen), 275 * sec, again, SendProbe},
		{"probing hears", again, PathFrame, back, 280 * sec, active, PathRest},
		{"probing writes", again, PathWrote, back, 280 * sec, again, PathRest},

		{"held", suspect, PathSwept, back, 884 * sec, suspect, PathRest},
		{"held long enough", suspect, PathSwept, back, 885 * sec, closed, PathClose},
		{"held long enough, but the loop was late", suspect, PathSwept, late, 885 * sec, suspect, PathRest},
		{"nothing shortens a hold", suspect, PathSwept, with(back, dead), 884 * sec, suspect, PathRest},
		{"nothing prolongs it in background", suspect, PathSwept, with(back, frozen), 885 * sec, closed, PathClose},
		{"held in foreground", suspect, PathSwept, front, 314 * sec, suspect, PathRest},
		{"held long enough in foreground", suspect, PathSwept, front, 315 * sec, closed, PathClose},
		{"frozen in foreground", suspect, PathSwept, with(front, frozen), 884 * sec, suspect, PathRest},
		{"frozen too long in foreground", suspect, PathSwept, with(front, frozen), 885 * sec, closed, PathClose},
		{"no room in foreground", suspect, PathSwept, with(front, slow), 884 * sec, suspect, PathRest},
		{"dead in foreground", suspect, PathSwept, with(front, dead), 315 * sec, closed, PathClose},
		{"suspect hears", suspect, PathFrame, back, 800 * sec, active, PathRest},
		{"suspect hears when it should be closed", suspect, PathFrame, back, 900 * sec, active, PathRest},
		{"suspect writes", suspect, PathWrote, back, 300 * sec, suspect, PathRest},

		{"closed is swept", closed, PathSwept, back, 9000 * sec, closed, PathRest},
		{"closed hears", closed, PathFrame, back, 9000 * sec, closed, PathRest},
		{"closed writes", closed, PathWrote, back, 9000 * sec, closed, PathRest},
	} {
		if to, act := NextPath(tt.from, tt.event, tt.facts, at(tt.now)); to != tt.to || act != tt.act {
			t.Errorf("%s: %+v, act %d, want %+v, act %d", tt.name, to, act, tt.to, tt.act)
		}
	}
}

// fade sweeps a session that is never heard again, once a second, and returns when it came to each state.
func fade(s PathState, f PathFacts, most time.Duration) (probing, suspect, closed time.Duration, probes int) {
	for now := time.Duration(0); now <= most; now += sec {
		before := s.Path
		var act PathAct
		if s, act = NextPath(s, PathSwept, f, f.LastIn.Add(now)); act == SendProbe {
			probes++
		}
		if s.Path == before {
			continue
		}
		switch s.Path {
		case PathProbing:
			probing = now
		case PathSuspect:
			suspect = now
		case PathClosed:
			return probing, suspect, now, probes
		}
	}
	return probing, suspect, 0, probes
}

func TestSilenceEndsASession(t *testing.T) {
	for _, tt := range []struct {
		name                     string
		interval                 time.Duration
		background               bool
		echo                     int
		probing, suspect, closed time.Duration
	}{
		{"foreground", 60 * sec, false, 0, 76 * sec, 96 * sec, 126 * sec},
		{"background", 240 * sec, true, 0, 265 * sec, 285 * sec, 885 * sec},
		{"background, proven", 810 * sec, true, 0, 892 * sec, 912 * sec, 1722 * sec},
		{"during a trial", 240 * sec, true, 360, 397 * sec, 417 * sec, 1017 * sec},
	} {
		f := PathFacts{LastIn: at(0), Interval: tt.interval, Background: tt.background, Hold: DefaultPolicy().Hold}
		probing, suspect, closed, probes := fade(PathState{Echo: tt.echo}, f, time.Hour)
		if probing != tt.probing || suspect != tt.suspect || closed != tt.closed || probes != 2 {
			t.Errorf("%s: probing %v, suspect %v, closed %v, %d probes; want %v, %v, %v, 2",
				tt.name, probing, suspect, closed, probes, tt.probing, tt.suspect, tt.closed)
		}
	}
}

func TestAsk(t *testing.T) {
	if got := (PathState{}).Ask(500); got.Echo != 500 || got.Echoed {
		t.Errorf("active: %+v", got)
	}
	suspect := PathState{Path: PathSuspect, Since: at(0)}
	if got := suspect.Ask(500); got != suspect {
		t.Errorf("suspect: %+v", got)
	}
}

func TestProven(t *testing.T) {
	asked := PathState{Echo: 360, Echoed: true}
	for _, tt := range []struct {
		name string
		s    PathState
		now  time.Duration
		want int
	}{
		{"at once", asked, 360*sec + 100*ms, 360},
		{"after a long round trip", asked, 366 * sec, 360},
		{"it missed the Echo", asked, 372 * sec, 0},
		{"close to that", asked, 366*sec + 100*ms, 0},
		{"a Ping before the Echo", PathState{Echo: 360}, 361 * sec, 0},
		{"no trial", PathState{}, 60 * sec, 0},
	} {
		if got := tt.s.Proven(at(0), at(tt.now)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// Before Due a sweep does nothing, and at Due it does something, whatever happened before.
func TestDue(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	f := PathFacts{Interval: 240 * sec, Background: true, Hold: DefaultPolicy().Hold}
	f.LastIn = at(0)
	var s PathState
	var acted int
	for now := at(0); now < at(2000*time.Hour); {
		due := s.Due(f)
		if s.Path == PathClosed {
			s, f.LastIn = PathState{}, now
			continue
		}
		if due < now {
			t.Fatalf("%+v is due at %d, before now, %d", s, due, now)
		}
		if before := due - 1; before >= now {
			if after, act := NextPath(s, PathSwept, f, before); after != s || act != PathRest {
				t.Fatalf("%+v acted before it was due: %+v, %d", s, after, act)
			}
		}
		if wait := Time(r.IntN(6000)); r.IntN(3) == 0 && now+wait < due {
			now += wait
			f.Interval, f.Background = time.Duration(30+r.IntN(900))*sec, r.IntN(2) == 0
			f.Info = []PathInfo{{}, frozen, slow}[r.IntN(3)]
			s, _ = NextPath(s, PathFrame, f, now)
			f.LastIn = now
			s = s.Ask(r.IntN(900))
			continue
		}
		now = due
		after, act := NextPath(s, PathSwept, f, now)
		if after == s {
			t.Fatalf("%+v was due and did nothing", s)
		}
		if act != PathRest || after.Path != s.Path {
			acted++
		}
		s = after
	}
	if acted < 1000 {
		t.Errorf("only %d acts", acted)
	}
}

func TestClosedIsDueForNothing(t *testing.T) {
	if due := (PathState{Path: PathClosed}).Due(PathFacts{}); due != ^Time(0) {
		t.Errorf("due at %d", due)
	}
}

// The leak net looks at silence alone, so it finds a session whatever its state claims.
func TestLeaked(t *testing.T) {
	f := PathFacts{LastIn: at(0), Interval: 240 * sec, Background: true, Hold: DefaultPolicy().Hold}
	end := 264*sec + 20*sec + 600*sec + time.Hour
	for _, s := range []PathState{{}, {Path: PathProbing, Since: at(0)}, {Path: PathSuspect, Since: at(0)}, {Path: PathClosed}} {
		if Leaked(s, f, at(end)) {
			t.Errorf("%v: leaked within the hour", s.Path)
		}
		if !Leaked(s, f, at(end+100*ms)) {
			t.Errorf("%v: not leaked past the hour", s.Path)
		}
	}
	f.Grace = true
	if Leaked(PathState{}, f, at(2*end)) {
		t.Error("leaked although the loop was late")
	}
}

// What the machine does in time is never a leak.
func TestNoLeakWhileTheMachineRuns(t *testing.T) {
	for _, interval := range []time.Duration{30 * sec, 240 * sec, 900 * sec} {
		for _, info := range []PathInfo{{}, frozen, dead} {
			f := PathFacts{LastIn: at(0), Interval: interval, Hold: DefaultPolicy().Hold, Info: info}
			_, _, closed, _ := fade(PathState{}, f, 2*time.Hour)
			if closed == 0 {
				t.Fatalf("interval %v: never closed", interval)
			}
			if Leaked(PathState{}, f, at(closed+time.Hour-5*sec)) {
				t.Errorf("interval %v: a session closed at %v counts as leaked within the hour", interval, closed)
			}
		}
	}
}

func TestPathNames(t *testing.T) {
	for p, want := range map[Path]string{PathActive: "active", PathProbing: "probing", PathSuspect: "suspect", PathClosed: "closed"} {
		if p.String() != want {
			t.Errorf("%d: %q, want %q", p, p.String(), want)
		}
	}
}
