package liveness

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestGrant(t *testing.T) {
	back := Request{Background: true}
	with := func(r Request, low, high time.Duration) Request {
		r.Low, r.High = low, high
		return r
	}
	slow := Request{Background: true, Slow: true}
	for _, tt := range []struct {
		name        string
		request     Request
		beat, limit time.Duration
	}{
		{"foreground", Request{}, 60 * sec, 0},
		{"foreground, everything proven", with(Request{}, 1000*sec, 0), 60 * sec, 0},
		{"foreground, a bad network", with(Request{}, 50*sec, 0), 45 * sec, 0},
		{"foreground, a hopeless network", with(Request{}, 10*sec, 0), 30 * sec, 0},
		{"desktop", Request{Desktop: true}, 60 * sec, 0},
		{"desktop in background", Request{Desktop: true, Background: true}, 60 * sec, 0},
		{"desktop, everything proven", with(Request{Desktop: true, Background: true}, 1000*sec, 0), 60 * sec, 0},
		{"background, unknown", back, 240 * sec, 900 * sec},
		{"background, proven", with(back, 600*sec, 0), 540 * sec, 900 * sec},
		{"background, proven to the end", with(back, 900*sec, 0), 810 * sec, 900 * sec},
		{"background, a client that exaggerates", with(back, 1e9*sec, 0), 900 * sec, 900 * sec},
		{"background, hardly anything proven", with(back, 20*sec, 0), 90 * sec, 900 * sec},
		{"background, an odd proof", with(back, 333*sec, 0), 299 * sec, 900 * sec},
		{"background, low far below high", with(back, 300*sec, 600*sec), 270 * sec, 900 * sec},
		{"background, low close to high", with(back, 300*sec, 302*sec), 258 * sec, 900 * sec},
		{"background, only high", with(back, 0, 500*sec), 315 * sec, 900 * sec},
		{"background, nonsense", with(back, -5*sec, -5*sec), 240 * sec, 900 * sec},
		{"slow network", slow, 240 * sec, 600 * sec},
		{"slow network, proven", with(slow, 900*sec, 0), 600 * sec, 600 * sec},
		{"suspended by its system", Request{Background: true, Suspends: true}, 240 * sec, 0},
	} {
		p := DefaultPolicy()
		if got := p.Grant(tt.request); got != tt.beat {
			t.Errorf("%s: interval %v, want %v", tt.name, got, tt.beat)
		}
		if got := p.EchoLimit(tt.request); got != tt.limit {
			t.Errorf("%s: echo limit %v, want %v", tt.name, got, tt.limit)
		}
	}
}

// TestEveryIntervalOfThePolicyIsGranted to somebody: one that nobody can have is a setting that does nothing.
func TestEveryIntervalOfThePolicyIsGranted(t *testing.T) {
	p := DefaultPolicy()
	granted := make(map[time.Duration]bool)
	for low := time.Duration(0); low <= longest; low += 10 * sec {
		for _, r := range []Request{{}, {Background: true}, {Background: true, Slow: true}, {Desktop: true}} {
			r.Low = low
			granted[p.Grant(r)] = true
		}
	}
	var look func(name string, v reflect.Value)
	look = func(name string, v reflect.Value) {
		if d, ok := v.Interface().(time.Duration); ok {
			if !granted[d] {
				t.Errorf("nobody is granted %s, %v", name, d)
			}
			return
		}
		for i := range v.NumField() {
			look(name+"."+v.Type().Field(i).Name, v.Field(i))
		}
	}
	look("foreground", reflect.ValueOf(p.Foreground))
	look("background", reflect.ValueOf(p.Background))
	look("slow max", reflect.ValueOf(p.SlowMax))
	look("desktop", reflect.ValueOf(p.Desktop))
}

func TestNoEchoWithoutBudget(t *testing.T) {
	p := DefaultPolicy()
	p.EchoesPerDay = 0
	if got := p.EchoLimit(Request{Background: true}); got != 0 {
		t.Errorf("echo limit %v", got)
	}
}

// A trial beyond the limit is refused and costs nothing; those within it are granted while the budget lasts.
func TestTry(t *testing.T) {
	p, r := DefaultPolicy(), Request{Background: true}
	p.EchoesPerDay = 4
	var l Line
	for i, tt := range []struct {
		r    Request
		c    int
		want bool
	}{
		{r, 901, false}, {Request{}, 100, false}, {Request{Background: true, Suspends: true}, 100, false}, {r, 1 << 40, false},
		{r, 900, true}, {r, 1, true}, {r, 1, false},
	} {
		if got := p.Try(&l, tt.r, tt.c, at(0)); got != tt.want {
			t.Errorf("trial %d, of %d s: %v, want %v", i, tt.c, got, tt.want)
		}
	}
}

// Whatever a client claims, its interval stays within the policy.
func TestGrantStaysInBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := DefaultPolicy()
	p.SlowMax = 100 * sec
	for range 100_000 {
		q := Request{
			Background: r.IntN(2) == 0, Desktop: r.IntN(8) == 0, Slow: r.IntN(2) == 0, Suspends: r.IntN(2) == 0,
			Low: time.Duration(r.Uint32()>>r.IntN(32)) * sec, High: time.Duration(r.Uint32()>>r.IntN(32)) * sec,
		}
		least, most := p.Foreground.Min, p.Foreground.Interval
		switch {
		case q.Desktop:
			least, most = p.Desktop, p.Desktop
		case q.Background:
			least, most = p.Background.Min, p.Background.Max
		}
		if q.Background && !q.Desktop && q.Slow {
			most = p.SlowMax
		}
		if got := p.Grant(q); got < least || got > most || got%sec != 0 {
			t.Fatalf("%+v: %v, want whole seconds from %v to %v", q, got, least, most)
		}
		if got := p.EchoLimit(q); got > most {
			t.Fatalf("%+v: echo limit %v, above %v", q, got, most)
		}
	}
}

func TestHold(t *testing.T) {
	h := DefaultPolicy().Hold
	for _, tt := range []struct {
		background     bool
		interval, want time.Duration
	}{
		{false, 60 * sec, 30 * sec},
		{false, 900 * sec, 30 * sec},
		{true, 60 * sec, 600 * sec},
		{true, 600 * sec, 600 * sec},
		{true, 900 * sec, 900 * sec},
	} {
		if got := h.For(tt.background, tt.interval); got != tt.want {
			t.Errorf("background %v, interval %v: %v, want %v", tt.background, tt.interval, got, tt.want)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, tt := range []struct{ interval, window, limit time.Duration }{
		{1 * sec, 15 * sec, 16 * sec},
		{60 * sec, 15 * sec, 75 * sec},
		{150 * sec, 15 * sec, 165 * sec},
		{151 * sec, 15100 * ms, 166100 * ms},
		{240 * sec, 24 * sec, 264 * sec},
		{900 * sec, 90 * sec, 990 * sec},
	} {
		if got := Window(tt.interval); got != tt.window {
			t.Errorf("Window(%v) = %v, want %v", tt.interval, got, tt.window)
		}
		if got := Limit(tt.interval); got != tt.limit {
			t.Errorf("Limit(%v) = %v, want %v", tt.interval, got, tt.limit)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Policy)
		want   []string
	}{
		{"default", func(*Policy) {}, nil},
		{"fixed", func(p *Policy) { p.Foreground = Pace{60 * sec, 60 * sec} }, nil},
		{"as short and as long as may be", func(p *Policy) { p.Foreground = Pace{sec, time.Hour}; p.EchoesPerDay = 30 }, nil},
		{"zero", func(p *Policy) { p.Desktop = 0 }, []string{"desktop is 0s"}},
		{"fraction", func(p *Policy) { p.Desktop = 1500 * ms }, []string{"desktop is 1.5s"}},
		{"too long", func(p *Policy) { p.Background.Max = time.Hour + sec }, []string{"background.max is 1h0m1s"}},
		{"below min", func(p *Policy) { p.Foreground.Interval = 29 * sec }, []string{"foreground.interval is 29s"}},
		{"above max", func(p *Policy) { p.Background.Interval = 901 * sec }, []string{"background.interval is 15m1s"}},
		{"slow below min", func(p *Policy) { p.SlowMax = 89 * sec }, []string{"slow_max is 1m29s"}},
		{"no echoes", func(p *Policy) { p.EchoesPerDay = 0 }, nil},
		{"odd echoes", func(p *Policy) { p.EchoesPerDay = 7 }, []string{"echoes_per_day is 7"}},
		{"more echoes than can be counted", func(p *Policy) { p.EchoesPerDay = 32 }, []string{"echoes_per_day is 32"}},
		{"negative echoes", func(p *Policy) { p.EchoesPerDay = -2 }, []string{"echoes_per_day is -2"}},
		{"no hold", func(p *Policy) { p.Hold.Foreground = 0 }, []string{"hold.foreground is 0s"}},
		{"long hold", func(p *Policy) { p.Hold.Background = 2 * time.Hour }, []string{"hold.background is 2h0m0s"}},
		{"holds the wrong way round", func(p *Policy) { p.Hold.Foreground = 700 * sec }, []string{"hold.foreground is 11m40s"}},
		{"all at once", func(p *Policy) { *p = Policy{} }, []string{
			"foreground.min", "foreground.interval",
			"background.min", "background.interval", "background.max",
			"slow_max", "desktop", "hold.foreground", "hold.background",
		}},
	} {
		p := DefaultPolicy()
		tt.change(&p)
		faults := p.Validate()
		if len(faults) != len(tt.want) {
			t.Errorf("%s: %d faults %v, want %d", tt.name, len(faults), faults, len(tt.want))
			continue
		}
		for i, want := range tt.want {
			if !strings.HasPrefix(faults[i].Error(), want) {
				t.Errorf("%s: fault %q, want %q", tt.name, faults[i], want)
			}
		}
	}
}
