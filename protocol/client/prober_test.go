package client

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

const (
	sec      = time.Second
	day      = 24 * time.Hour
	homeKey  = 7
	echoMost = 900 * sec
)

// place is a network and a prober on it. The phone is in background and pings as it is told; nothing else happens.
type place struct {
	t       *testing.T
	p       *Prober
	now     time.Time
	bears   time.Duration // silence
	strict  bool          // what is forgotten stays dead
	granted time.Duration
	limit   time.Duration
	tried   []time.Duration
	deaths  int
}

func newPlace(t *testing.T, bears time.Duration) *place {
	l := &place{t: t, p: NewProber(ProberState{}, always(0.5)), now: epochTime, bears: bears, granted: 240 * sec, limit: echoMost}
	l.p.Join(homeKey, l.now)
	l.connect()
	return l
}

// connect does what the server does with the bounds it is told.
func (l *place) connect() {
	l.p.Connected()
	low, high := l.p.Bounds()
	if bears := min(low, high/100*95); high > 0 {
		l.granted = max(90*sec, bears/10*9)
	} else if low > 0 {
		l.granted = min(900*sec, low/10*9)
	}
}

// beat lives until the next Ping, or its Echo, and through the answer.
func (l *place) beat() {
	silence := l.p.Interval(l.granted)
	if due := l.p.Due(); !due.IsZero() {
		silence = due.Sub(l.now)
		if c := l.p.trial.c; c < l.bears {
			l.now = l.now.Add(c)
			l.p.Echo(l.now)
			low, _ := l.p.Bounds()
			l.granted = max(l.granted, min(900*sec, low/10*9))
			silence = 0
		}
	}
	l.now = l.now.Add(silence)
	if c := l.p.Ping(l.granted, l.limit, l.now); c > 0 {
		l.tried = append(l.tried, c)
	}
	if l.strict && silence > l.bears {
		l.deaths++
		l.p.Died(silence, l.granted, l.now)
		l.connect()
		return
	}
	l.p.Pong(l.limit)
}

// live beats for a time.
func (l *place) live(d time.Duration) {
	for end := l.now.Add(d); l.now.Before(end); {
		l.beat()
	}
}

func (l *place) expectTried(want ...int) {
	l.t.Helper()
	var got []int
	for _, c := range l.tried {
		got = append(got, int(c/sec))
	}
	if !slices.Equal(got, want) {
		l.t.Errorf("tried %v, want %v", got, want)
	}
	l.tried = nil
}

func (l *place) expectBounds(low, high time.Duration) {
	l.t.Helper()
	if gotLow, gotHigh := l.p.Bounds(); gotLow != low || gotHigh != high {
		l.t.Errorf("bounds %v, %v, want %v, %v", gotLow, gotHigh, low, high)
	}
}

func TestLadder(t *testing.T) {
	l := newPlace(t, time.Hour)
	l.live(day)
	l.expectTried(240, 360, 540, 810, 900)
	l.expectBounds(900*sec, 0)
	if got := l.p.Interval(l.granted); got != 810*sec {
		t.Errorf("interval %v", got)
	}
}

func TestLimitEndsTheLadder(t *testing.T) {
	l := newPlace(t, time.Hour)
	l.limit = 540 * sec
	l.live(day)
	l.expectTried(240, 360, 540)
}

// Each network is searched until the bounds are close, and none costs the connection when it opens again by itself.
func TestSearch(t *testing.T) {
	for _, tt := range []struct {
		bears     time.Duration
		tried     []int
		low, high time.Duration
	}{
		{700 * sec, []int{240, 360, 540, 810, 675, 742}, 675 * sec, 742 * sec},
		{500 * sec, []int{240, 360, 540, 450, 495}, 495 * sec, 540 * sec},
		{300 * sec, []int{240, 360, 300, 270}, 270 * sec, 300 * sec},
		{200 * sec, []int{240, 168, 204, 186}, 186 * sec, 204 * sec},
		{150 * sec, []int{240, 168, 117, 142}, 142 * sec, 168 * sec},
		{100 * sec, []int{240, 168, 117, 90}, 90 * sec, 117 * sec},
		{60 * sec, []int{240, 168, 117, 90}, 81 * sec, 90 * sec},
	} {
		l := newPlace(t, tt.bears)
		l.live(day)
		l.expectTried(tt.tried...)
		l.expectBounds(tt.low, tt.high)
		if got := l.p.Interval(l.granted); got > max(shortestBeat, tt.bears) {
			t.Errorf("bears %v: interval %v", tt.bears, got)
		}
	}
}

// Where a silent death costs the connection, a trial that fails is believed when it has failed twice.
func TestSearchWhereDeathsAreFinal(t *testing.T) {
	l := newPlace(t, 500*sec)
	l.strict = true
	l.live(day)
	l.expectTried(240, 360, 540, 540, 450, 495)
	l.expectBounds(495*sec, 540*sec)
	if l.deaths != 2 {
		t.Errorf("%d deaths, want 2", l.deaths)
	}
}

func TestSearchBeginsAgain(t *testing.T) {
	for _, tt := range []struct {
		random float64
		after  time.Duration
	}{{0, 6 * day}, {0.5, 7 * day}, {0.999, 8 * day}} {
		l := newPlace(t, 500*sec)
		l.p.random = always(tt.random)
		l.live(6*day - time.Hour)
		l.expectTried(240, 360, 540, 450, 495)
		begun := l.now
		for len(l.tried) == 0 {
			l.beat()
		}
		if got := l.now.Sub(epochTime); got < tt.after-time.Hour || got > tt.after+3*time.Hour {
			t.Errorf("random %v: again after %v, want %v", tt.random, got, tt.after)
		}
		l.live(12 * time.Hour)
		l.expectTried(540, 495)
		l.expectBounds(495*sec, 540*sec)
		if l.now.Before(begun) {
			t.Error("time stands still")
		}
	}
}

func TestNetworkThatBearsMoreIsFound(t *testing.T) {
	l := newPlace(t, 500*sec)
	l.live(5 * day)
	l.tried = nil
	l.bears = 2000 * sec
	l.live(4 * day)
	l.expectTried(540, 810, 900)
	l.expectBounds(900*sec, 0)
}

func TestNetworkThatBearsLessIsFound(t *testing.T) {
	l := newPlace(t, 2000*sec)
	l.live(5 * day)
	l.tried = nil
	l.bears = 500 * sec
	l.live(4 * day)
	l.expectTried(900, 630, 441, 535, 488)
	l.expectBounds(488*sec, 535*sec)
}

// Deaths between heartbeats: the first is no proof, the second within a day is.
func TestStrikes(t *testing.T) {
	proven := func() *place {
		l := newPlace(t, 2000*sec)
		l.live(day)
		l.tried = nil
		return l
	}
	for _, tt := range []struct {
		name      string
		gaps      []time.Duration // each behind the one before
		apart     time.Duration
		low, high time.Duration
	}{
		{"one", []time.Duration{800 * sec}, 0, 900 * sec, 0},
		{"two", []time.Duration{800 * sec, 800 * sec}, time.Hour, 560 * sec, 800 * sec},
		{"two, what both agree on", []time.Duration{700 * sec, 800 * sec}, time.Hour, 560 * sec, 800 * sec},
		{"two, the other way round", []time.Duration{800 * sec, 700 * sec}, time.Hour, 560 * sec, 800 * sec},
		{"two a day apart", []time.Duration{800 * sec, 800 * sec}, day, 560 * sec, 800 * sec},
		{"two further apart", []time.Duration{800 * sec, 800 * sec}, day + sec, 900 * sec, 0},
		{"the second and the third", []time.Duration{800 * sec, 800 * sec, 800 * sec}, day + sec, 900 * sec, 0},
		{"two after little silence", []time.Duration{647 * sec, 647 * sec}, time.Hour, 900 * sec, 0},
		{"one of them after little silence", []time.Duration{800 * sec, 100 * sec}, time.Hour, 900 * sec, 0},
	} {
		l := proven()
		for i, gap := range tt.gaps {
			if i > 0 {
				l.now = l.now.Add(tt.apart)
			}
			l.p.Died(gap, l.granted, l.now)
		}
		if low, high := l.p.Bounds(); low != tt.low || high != tt.high {
			t.Errorf("%s: bounds %v, %v, want %v, %v", tt.name, low, high, tt.low, tt.high)
		}
	}
}

// What two deaths take away is tried again, so a network that was not to blame soon has its silence back.
func TestStrikesLowerTheInterval(t *testing.T) {
	l := newPlace(t, 2000*sec)
	l.live(day)
	l.tried = nil
	l.p.Died(800*sec, l.granted, l.now)
	l.p.Died(800*sec, l.granted, l.now)
	if got := l.p.Interval(l.granted); got != 504*sec {
		t.Errorf("interval %v, want 0.9 of 0.7 of 800 s", got)
	}
	l.live(day)
	l.expectTried(560, 680, 740)
}

// Old pushes behind one's own Ping are strikes too: the network forgot the connection and the Ping opened it again.
func TestDelayedPushesAreStrikes(t *testing.T) {
	l := newPlace(t, 2000*sec)
	l.live(day)
	l.p.Delayed(800*sec, l.granted, l.now)
	l.expectBounds(900*sec, 0)
	l.p.Delayed(100*sec, l.granted, l.now)
	l.expectBounds(900*sec, 0)
	l.p.Delayed(800*sec, l.granted, l.now.Add(time.Hour))
	l.expectBounds(560*sec, 800*sec)
}

func TestNetworksAreKeptApart(t *testing.T) {
	l := newPlace(t, 500*sec)
	l.live(day)
	l.p.Join(8, l.now)
	l.expectBounds(0, 0)
	l.p.Join(homeKey, l.now)
	l.expectBounds(495*sec, 540*sec)
}

func TestNetworksAreForgotten(t *testing.T) {
	p := NewProber(ProberState{}, always(0.5))
	for key := range uint64(70) {
		p.Join(key+1, epochTime.Add(time.Duration(key)*time.Minute))
	}
	known := p.State().Networks
	if len(known) != networksKept || known[0].Key != 7 {
		t.Errorf("%d networks from %d, want 64 from 7", len(known), known[0].Key)
	}
	p.Join(70, epochTime.Add(30*day+66*time.Minute+sec))
	if known = p.State().Networks; len(known) != 3 {
		t.Errorf("%d networks after a month, want those of the last three minutes", len(known))
	}
}

func TestStateSurvivesTheProcess(t *testing.T) {
	l := newPlace(t, 500*sec)
	l.live(day)
	l.p.Died(430*sec, l.granted, l.now)
	text, err := json.Marshal(l.p.State())
	if err != nil {
		t.Fatal(err)
	}
	var known ProberState
	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}
	again := NewProber(known, always(0.5))
	again.Join(homeKey, l.now)
	if low, high := again.Bounds(); low != 495*sec || high != 540*sec {
		t.Errorf("bounds %v, %v", low, high)
	}
	again.Died(430*sec, l.granted, l.now)
	if _, high := again.Bounds(); high != 430*sec {
		t.Errorf("high %v: the first strike was lost", high)
	}
	if _, high := l.p.Bounds(); high != 540*sec {
		t.Error("State shares memory with the prober it came from")
	}
}

func TestDamagedStateIsDropped(t *testing.T) {
	p := NewProber(ProberState{Networks: []NetworkBounds{
		{Key: 1, Low: -1}, {Key: 2, High: -1}, {Key: 3, Low: 300, High: 300}, {Key: 4, Low: 1 << 40}, {Low: 100},
		{Key: 5, Low: 300, High: 301},
	}}, always(0.5))
	if known := p.State().Networks; len(known) != 1 || known[0].Key != 5 {
		t.Errorf("kept %+v", known)
	}
	many := make([]NetworkBounds, 1000)
	for i := range many {
		many[i] = NetworkBounds{Key: uint64(i + 1), Used: int64(i)}
	}
	if known := NewProber(ProberState{Networks: many}, always(0.5)).State().Networks; len(known) != 64 || known[0].Key != 937 {
		t.Errorf("%d networks, the first %+v", len(known), known[0])
	}
}

// Whatever happens in whatever order, the bounds stay in order, the interval stays within what is granted, and a trial
// within the limit.
func TestProberHoldsInAnyWeather(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	p := NewProber(ProberState{}, r.Float64)
	p.Join(homeKey, epochTime)
	now := epochTime
	for range 200_000 {
		now = now.Add(time.Duration(r.Int64N(int64(2000 * sec))))
		granted := time.Duration(30+r.IntN(870)) * sec
		limit := time.Duration(r.IntN(3)) * 450 * sec
		switch r.IntN(10) {
		case 0:
			p.Join(uint64(r.IntN(100)), now)
		case 1:
			p.Connected()
		case 2, 3, 4:
			if c := p.Ping(granted, limit, now); c > limit || c%sec != 0 || c < 0 {
				t.Fatalf("a trial of %v, limit %v", c, limit)
			}
			p.Pong(limit)
		case 5, 6:
			p.Echo(p.trial.deadline.Add(-trialSlack))
		case 7:
			p.Frame()
		case 8:
			p.Died(time.Duration(r.Int64N(int64(1000*sec))), granted, now)
		case 9:
			p.Delayed(time.Duration(r.Int64N(int64(1000*sec))), granted, now)
		}
		if low, high := p.Bounds(); low < 0 || high > 0 && low >= high {
			t.Fatalf("bounds %v, %v", low, high)
		}
		if got := p.Interval(granted); got > granted || got < min(granted, shortestBeat) {
			t.Fatalf("interval %v of %v", got, granted)
		}
	}
}
