package liveness

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"
)

func TestLineIsSmall(t *testing.T) {
	if got := unsafe.Sizeof(Line{}); got != 10 {
		t.Errorf("a line has %d bytes, want 10", got)
	}
}

// Whatever the machines hand out comes back, at every later time at which it is looked at, and nothing else moves.
func TestLineKeepsEverything(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var l Line
	var path PathState
	var app AppState
	var low time.Duration
	now := Time(1)
	for range 200_000 {
		now += Time(r.IntN(100 * 10))
		switch r.IntN(4) {
		case 0:
			path = PathState{Path: Path(r.IntN(4)), Again: r.IntN(2) == 0, Echoed: r.IntN(2) == 0, Echo: r.IntN(4000)}
			if path.Suspicious() {
				path.Since = now.wholeSecond()
			}
			l.SetPath(path)
		case 1:
			app = AppState{Lagging: r.IntN(2) == 0}
			if r.IntN(2) == 0 {
				app.Heard = now.wholeSecond()
			}
			l.SetApp(app)
		case 2:
			low = time.Duration(r.IntN(4000)) * sec
			l.SetLow(low)
		case 3:
			l.Mark()
			l.TakeEcho(24, now)
		}
		if got := l.Path(now); got != path {
			t.Fatalf("path %+v, want %+v", got, path)
		}
		if got := l.App(now); got != app {
			t.Fatalf("app %+v, want %+v", got, app)
		}
		if got := l.Low(); got > low || got <= low-4*sec {
			t.Fatalf("low %v, want %v or up to 4 s less", got, low)
		}
	}
}

// Seconds are kept modulo 2^16, so a state must be read right for hours, also across a wrap.
func TestLineReadsOldMoments(t *testing.T) {
	for _, since := range []Time{0, 10, 65530 * 10, 65536 * 10, 65537*10 + 10, 3_000_000_010} {
		for _, age := range []time.Duration{0, 100 * ms, sec, time.Hour, 18 * time.Hour} {
			var l Line
			l.SetPath(PathState{Path: PathSuspect, Since: since})
			if got := l.Path(since.Add(age)).Since; got != since {
				t.Errorf("since %d, read %v later: %d", since, age, got)
			}
		}
	}
}

func TestSinceMayBeAMomentAhead(t *testing.T) {
	now := Time(1001)
	s, _ := NextPath(PathState{}, PathSwept, PathFacts{}, now)
	var l Line
	l.SetPath(s)
	if got := l.Path(now); got != s || got.Since != 1010 {
		t.Errorf("%+v, want %+v with the next whole second", got, s)
	}
}

func TestLowIsBounded(t *testing.T) {
	var l Line
	for _, tt := range []struct{ set, want time.Duration }{
		{-sec, 0}, {0, 0}, {3 * sec, 0}, {4 * sec, 4 * sec}, {903 * sec, 900 * sec}, {1e6 * sec, 4092 * sec},
	} {
		l.SetLow(tt.set)
		if got := l.Low(); got != tt.want {
			t.Errorf("SetLow(%v): %v, want %v", tt.set, got, tt.want)
		}
	}
}

// No 24 hours see more trials than the policy's number, however greedy the client, and a patient one gets them all.
func TestEchoBudget(t *testing.T) {
	for _, perDay := range []int{0, 2, 8, 24, 30} {
		r := rand.New(rand.NewPCG(9, 10))
		var l Line
		var taken []Time
		first := 0
		for now := Time(12345); now < Time(0).Add(20*24*time.Hour); now += Time(1 + r.IntN(3000)) {
			if !l.TakeEcho(perDay, now) {
				continue
			}
			taken = append(taken, now)
			for taken[first].Add(24*time.Hour) <= now {
				first++
			}
			if n := len(taken) - first; n > perDay {
				t.Fatalf("%d a day: %d in 24 hours", perDay, n)
			}
		}
		if got, least := len(taken), 20*perDay/2-1; got < least {
			t.Errorf("%d a day: only %d in 20 days, want %d", perDay, got, least)
		}
	}
}

func TestEchoBudgetAllowsASearchAtOnce(t *testing.T) {
	var l Line
	n := 0
	for l.TakeEcho(24, at(time.Duration(n)*sec)) {
		n++
	}
	if n != 12 {
		t.Errorf("%d at once, want 12", n)
	}
}

// After a long pause the count may be stingy, for its clock wraps, but never generous.
func TestEchoBudgetAfterAPause(t *testing.T) {
	for _, pause := range []time.Duration{2 * time.Hour, 24 * time.Hour, 128 * time.Hour, 1000 * time.Hour} {
		var l Line
		for l.TakeEcho(24, at(0)) {
		}
		n := 0
		for l.TakeEcho(24, at(pause)) {
			n++
		}
		if n > 12 {
			t.Errorf("after %v: %d at once", pause, n)
		}
	}
}

func TestMark(t *testing.T) {
	var l Line
	pass := func(n int) (writes int) {
		for range n {
			if l.Mark() {
				writes++
			}
		}
		return writes
	}
	expect := func(what string, writes, wantWrites int, marked bool) {
		t.Helper()
		if writes != wantWrites || l.Marked() != marked {
			t.Errorf("%s: %d writes, marked %v; want %d, %v", what, writes, l.Marked(), wantWrites, marked)
		}
	}
	suspect := PathState{Path: PathSuspect, Since: at(0)}

	expect("well", pass(20), 0, false)
	l.SetPath(suspect)
	expect("suspect for a moment", pass(4), 0, false)
	l.SetPath(PathState{})
	expect("well again", pass(20), 0, false)
	l.SetPath(suspect)
	expect("suspect again, almost", pass(4), 0, false)
	expect("suspect for five passes", pass(1), 1, true)
	expect("suspect for longer", pass(20), 0, true)
	l.SetPath(PathState{})
	l.SetApp(AppState{Lagging: true})
	expect("lagging instead", pass(20), 0, true)
	l.SetApp(AppState{})
	expect("well for a moment", pass(4), 0, true)
	expect("well for five passes", pass(1), 1, false)
}

func TestProbingIsNotWakeable(t *testing.T) {
	for p, want := range map[Path]bool{PathActive: false, PathProbing: false, PathSuspect: true, PathClosed: false} {
		var l Line
		l.SetPath(PathState{Path: p})
		if l.Wakeable() != want {
			t.Errorf("%v: wakeable %v", p, l.Wakeable())
		}
	}
}

func TestASweepOfALineDoesNotAllocate(t *testing.T) {
	var l Line
	f := PathFacts{LastIn: at(0), Interval: 240 * sec, Hold: DefaultPolicy().Hold}
	now := at(0)
	n := testing.AllocsPerRun(1000, func() {
		now += 10
		s, _ := NextPath(l.Path(now), PathSwept, f, now)
		l.SetPath(s)
		a, _ := NextApp(l.App(now), AppSwept, AppFacts{InFlight: true, Progress: at(0), LastIn: at(0)}, now)
		l.SetApp(a)
		l.Mark()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
