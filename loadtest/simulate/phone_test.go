package simulate

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lifeline/server/liveness"
)

// story is a phone on one network whose life is written down. No alarm is late.
type story struct {
	t     *testing.T
	world world
	r     *rand.Rand
	sum   tally
	phone phone
}

func tell(t *testing.T, m mapping, events ...event) *story {
	s := &story{t: t, r: rand.New(rand.NewPCG(1, 2))}
	for i := range numNetworks {
		s.world.networks = append(s.world.networks, network{key: uint64(i + 1), before: m, changes: never})
	}
	s.world.events = append([]event{{0, toNetwork, home}}, events...)
	return s
}

// live runs the story with an algorithm until end.
func (s *story) live(end int64, a func(p *phone) line) *story {
	s.world.events = append(s.world.events, event{end, ends, 0})
	slices.SortStableFunc(s.world.events, func(a, b event) int { return int(a.at - b.at) })
	s.phone = phone{r: s.r, world: &s.world, sum: &s.sum}
	s.phone.line = a(&s.phone)
	s.phone.run()
	return s
}

func every(interval int64) func(p *phone) line {
	return func(p *phone) line { return &fixed{p, interval} }
}

func design(p *phone) line { return newAdaptive(p) }

// expect compares counts; -1 = any.
func (s *story) expect(name string, breaks, kills, pushes, late int) {
	s.t.Helper()
	for _, c := range []struct {
		what      string
		got, want int
	}{{"breaks", s.sum.breaks, breaks}, {"false kills", s.sum.kills, kills}, {"pushes", s.sum.pushes, pushes}, {"late pushes", s.sum.late, late}} {
		if c.want >= 0 && c.got != c.want {
			s.t.Errorf("%s: %d %s, want %d", name, c.got, c.what, c.want)
		}
	}
}

var (
	patient   = mapping{life: 2 * hour, kind: strict}
	forgetful = func(k translation) mapping { return mapping{life: 200 * second, kind: k} }
)

func TestPings(t *testing.T) {
	s := tell(t, patient).live(hour, every(minute))
	s.expect("an hour", 0, 0, 0, 0)
	if s.sum.wakeups < 59 || s.sum.wakeups > 61 {
		t.Errorf("%d wake-ups in an hour of a ping a minute", s.sum.wakeups)
	}
	s = tell(t, patient, event{second, toFront, 0}, event{hour - 1, toBack, 0}).live(hour, every(minute))
	if s.sum.wakeups > 1 {
		t.Errorf("%d wake-ups in foreground", s.sum.wakeups)
	}
}

// A network that forgets after 200 s meets a ping every 270 s: what each kind of forgetting does to a push in the last
// minute of the silence, and to the connection.
func TestForgetting(t *testing.T) {
	push := event{250 * second, pushed, 0}
	early := event{100 * second, pushed, 0}
	for _, tt := range []struct {
		name         string
		kind         translation
		push         event
		breaks, late int
		wakeups      int
	}{
		{"early, loose", loose, early, 1, 0, 2},      // connect, ping
		{"late, loose", loose, push, 1, 1, 2},        // the ping opens the connection again
		{"late, strict", strict, push, 1, 1, 3},      // connect, ping, connect
		{"late, with resets", resets, push, 1, 1, 3}, // the same, at once
	} {
		s := tell(t, forgetful(tt.kind), tt.push).live(400*second, every(270*second))
		s.expect(tt.name, tt.breaks, 0, 1, tt.late)
		if s.sum.wakeups != tt.wakeups {
			t.Errorf("%s: %d wake-ups, want %d", tt.name, s.sum.wakeups, tt.wakeups)
		}
	}
}

func TestPushesThatCannotArriveAreNotCounted(t *testing.T) {
	tell(t, patient, event{10 * minute, toNetwork, noCoverage}, event{10*minute + second, pushed, 0}, event{10*minute + 20*second, toNetwork, home}).
		live(hour, every(minute)).expect("without coverage", 0, 0, 0, 0)
	tell(t, patient, event{10 * minute, freezes, 0}, event{10*minute + second, pushed, 0}, event{10*minute + 20*second, thaws, 0}).
		live(hour, every(minute)).expect("frozen", 0, 0, 0, 0)
	tell(t, patient, event{10 * minute, pushed, 0}).live(hour, every(minute)).expect("there", 0, 0, 1, 0)
}

// A lift is survived where the server waits for longer, and is a false kill where it does not.
func TestLift(t *testing.T) {
	lift := []event{{10 * minute, toNetwork, noCoverage}, {12 * minute, toNetwork, home}}
	tell(t, patient, lift...).live(hour, every(30*second)).expect("fixed 30 s", 0, 1, 0, 0)
	tell(t, patient, lift...).live(hour, every(270*second)).expect("fixed 4.5 min", 0, 0, 0, 0)
	tell(t, patient, lift...).live(hour, design).expect("this design", 0, 0, 0, 0)
}

// A process that the system stops for eight minutes keeps its session as Suspect; one that is stopped for an hour is
// closed, and that is counted.
func TestFreeze(t *testing.T) {
	freeze := func(d int64) []event { return []event{{10 * minute, freezes, 0}, {10*minute + d, thaws, 0}} }
	tell(t, patient, freeze(8*minute)...).live(3*hour, every(minute)).expect("fixed 60 s", 0, 1, 0, 0)
	tell(t, patient, freeze(8*minute)...).live(3*hour, design).expect("this design", 0, 0, 0, 0)
	tell(t, patient, freeze(hour)...).live(3*hour, design).expect("this design, an hour", 0, 1, 0, 0)
}

// A phone that vanishes is seen one and a half intervals after its last frame, and by the design when it is Suspect.
func TestVanishing(t *testing.T) {
	away := []event{{10 * minute, toNetwork, gone}, {5 * hour, toNetwork, home}}
	for _, tt := range []struct {
		name                string
		line                func(p *phone) line
		least, most, closed int64
	}{
		{"fixed 60 s", every(minute), 30 * second, 90 * second, 0},
		{"this design", design, 0, 284*second + 3*second, 600 * second},
	} {
		s := tell(t, patient, away...).live(6*hour, tt.line)
		s.expect(tt.name, 0, 0, 0, 0)
		if len(s.sum.seen) != 1 || len(s.sum.closed) != 1 {
			t.Fatalf("%s: seen %v, closed %v, want one each", tt.name, s.sum.seen, s.sum.closed)
		}
		if seen, closed := s.sum.seen[0], s.sum.closed[0]; seen < tt.least || seen > tt.most || closed != seen+tt.closed {
			t.Errorf("%s: seen after %d ms, closed after %d", tt.name, seen, closed)
		}
	}
	if s := tell(t, patient, event{10 * minute, toNetwork, gone}, event{10*minute + 20*second, toNetwork, home}).live(hour, every(minute)); len(s.sum.seen) != 0 {
		t.Errorf("back after 20 s and seen after %v", s.sum.seen)
	}
}

func TestAnotherNetworkIsAnotherConnection(t *testing.T) {
	s := tell(t, patient, event{10 * minute, toNetwork, cellular}).live(hour, every(30*minute))
	s.expect("a switch", 0, 0, 0, 0)
	if s.sum.wakeups != 3 { // two connects, one ping
		t.Errorf("%d wake-ups", s.sum.wakeups)
	}
}

func (s *story) bounds() (low, high, interval time.Duration) {
	a := s.phone.line.(*adaptive)
	low, high = a.prober.Bounds()
	return low, high, a.interval
}

// The design finds what the network bears, without losing a connection where the network opens it again.
func TestDesignLearns(t *testing.T) {
	for _, tt := range []struct {
		name                string
		m                   mapping
		low, high, interval time.Duration // seconds
		breaks, wakeups     int           // at most, in a day
	}{
		{"a patient network", patient, 900, 0, 810, 0, 115},
		{"one that forgets after 500 s", mapping{life: 500 * second, kind: loose}, 450, 540, 400, 2, 230},
		{"the same, for good", mapping{life: 500 * second, kind: strict}, 450, 540, 400, 4, 240},
	} {
		s := tell(t, tt.m).live(day, design)
		low, high, interval := s.bounds()
		if low < tt.low*time.Second || tt.high > 0 && high > tt.high*time.Second || tt.high == 0 && high != 0 {
			t.Errorf("%s: bounds %v, %v", tt.name, low, high)
		}
		if interval < tt.interval*time.Second {
			t.Errorf("%s: the server granted %v, want at least %d s", tt.name, interval, tt.interval)
		}
		if s.sum.breaks > tt.breaks || s.sum.kills > 0 || s.sum.wakeups > tt.wakeups {
			t.Errorf("%s: %d breaks, %d false kills, %d wake-ups", tt.name, s.sum.breaks, s.sum.kills, s.sum.wakeups)
		}
	}
}

// A refused trial is not asked for again until the server grants more, as in the client.
func TestDesignObeysARefusal(t *testing.T) {
	ask := func(events ...event) int {
		s := tell(t, patient, events...).live(day, func(p *phone) line {
			a := newAdaptive(p)
			a.policy.EchoesPerDay = 2
			return a
		})
		return s.phone.line.(*adaptive).prober.State().Trials
	}
	if got := ask(); got != 2 {
		t.Errorf("%d trials were asked for, want the one granted and the one refused", got)
	}
	if got := ask(event{2 * hour, toFront, 0}, event{3 * hour, toBack, 0}); got != 3 {
		t.Errorf("%d trials were asked for, want another one refused after a fresh grant", got)
	}
}

// A network that comes to forget sooner, and opens again what it forgot, is found out by old pushes.
func TestDesignSeesPushesComeLate(t *testing.T) {
	m := mapping{life: 2 * hour, kind: loose}
	var pushes []event
	r := rand.New(rand.NewPCG(3, 4))
	for at := int64(day); at < 3*day; at += between(r, 2*minute, 40*minute) {
		pushes = append(pushes, event{at, pushed, 0})
	}
	s := tell(t, m, pushes...)
	for i := range s.world.networks {
		s.world.networks[i].after, s.world.networks[i].changes = mapping{life: 400 * second, kind: loose}, day
	}
	s.world.events = append(s.world.events, event{day, toNetwork, cellular}, event{day + 10*minute, toNetwork, home})
	s.live(3*day, design)
	if low, high, _ := s.bounds(); high == 0 || low > 412*time.Second {
		t.Errorf("bounds %v, %v after two days", low, high)
	}
	if s.sum.late < 2 || s.sum.late > 5 {
		t.Errorf("%d late pushes of %d", s.sum.late, s.sum.pushes)
	}
}

func TestSmartClimbsAndStepsBack(t *testing.T) {
	smartest := func(p *phone) line { return &smart{fixed: fixed{p: p}} }
	s := tell(t, patient).live(day, smartest)
	if got := s.phone.line.(*smart).interval; got != smartMost {
		t.Errorf("a patient network: %d", got)
	}
	s = tell(t, mapping{life: 300 * second, kind: strict}).live(day, smartest)
	if got := s.phone.line.(*smart).interval; got != 270*second {
		t.Errorf("one that forgets after 300 s: %d", got)
	}
	s = tell(t, mapping{life: 300 * second, kind: loose}).live(day, smartest)
	if got := s.phone.line.(*smart).interval; got != smartMost {
		t.Errorf("the same, but the phone cannot see it: %d", got)
	}
}

// The simulation runs the policy that servers run by default.
func TestDesignUsesTheDefaultPolicy(t *testing.T) {
	s := tell(t, patient).live(hour, design)
	if got := s.phone.line.(*adaptive).policy; got != liveness.DefaultPolicy() {
		t.Errorf("%+v", got)
	}
}
