package route

import (
	"testing"
	"time"
)

var at0 = time.UnixMilli(1_700_000_000_000)

const (
	testLease    = 15 * time.Second
	testPatience = 60 * time.Second
)

// told is a roster of node b that has read leases, the answer having taken a second.
func told(l Leases) roster {
	r := newRoster(Self{Node: "b", Incarnation: 7, TTL: time.Hour}, testPatience)
	r.observe(l, at0)
	return r
}

// until has the roster read leases of nobody each second until a moment, as from a table that was emptied.
func (r *roster) until(after time.Duration) *roster {
	for at := at0.Add(time.Second); at.Before(at0.Add(after)); at = at.Add(time.Second) {
		r.observe(Leases{}, at)
	}
	return r
}

func live(node string, incarnation uint64) Lease {
	return Lease{Node: node, Incarnation: incarnation, Left: testLease, TTL: time.Hour}
}

func TestStanding(t *testing.T) {
	l := Leases{
		Live: []Lease{live("a", 1), live("b", 7)},
		Known: []Sighting{
			{Node: "a", Incarnation: 1, Age: time.Second},
			{Node: "b", Incarnation: 7},
			{Node: "gone", Incarnation: 2, Age: time.Second, Released: true},
			{Node: "cut", Incarnation: 3, Age: 20 * time.Second},
			{Node: "old", Incarnation: 4, Age: testPatience},
		},
	}
	for _, tt := range []struct {
		name        string
		node        string
		incarnation uint64
		after       time.Duration
		want        standing
	}{
		{"a live lease", "a", 1, 0, standsLive},
		{"the last moment of a lease", "a", 1, testLease - 1, standsLive},
		{"a lease that ran out", "a", 1, testLease, standsDoubtful},
		{"a lease that ran out long ago", "a", 1, testPatience, standsForgotten},
		{"an earlier process of a live node", "a", 9, 0, standsDead},
		{"this process, whatever the table says", "b", 7, time.Hour, standsLive},
		{"an earlier process of this node", "b", 6, 0, standsDead},
		{"a node that said goodbye", "gone", 2, 0, standsDead},
		{"a node that was cut off", "cut", 3, 0, standsDoubtful},
		{"cut off until a moment ago", "cut", 3, testPatience - 20*time.Second - 1, standsDoubtful},
		{"cut off for too long", "cut", 3, testPatience - 20*time.Second, standsForgotten},
		{"an earlier process of one that was cut off", "cut", 2, 0, standsDead},
		{"not seen for long", "old", 4, 0, standsForgotten},
		{"never heard of", "x", 1, 0, standsDoubtful},
	} {
		r := told(l)
		if got := r.until(tt.after).standing(tt.node, tt.incarnation, at0.Add(tt.after)); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestStrangersAreForgottenInTime(t *testing.T) {
	r := told(Leases{})
	for _, tt := range []struct {
		after time.Duration
		want  standing
	}{{0, standsDoubtful}, {testPatience - 1, standsDoubtful}, {testPatience, standsForgotten}} {
		if got := r.until(tt.after).standing("x", 1, at0.Add(tt.after)); got != tt.want {
			t.Errorf("after %v: got %d, want %d", tt.after, got, tt.want)
		}
	}
	if got := r.standing("x", 2, at0.Add(testPatience)); got != standsDoubtful {
		t.Errorf("another process of a stranger: got %d", got)
	}
	r.forget(at0.Add(25 * time.Hour))
	if len(r.strangers) != 0 {
		t.Error("strangers are kept for ever")
	}
}

// What the table has forgotten, because it was emptied, the roster has not.
func TestRosterOutlivesTheTable(t *testing.T) {
	r := told(Leases{Live: []Lease{live("a", 1)}, Known: []Sighting{{Node: "a", Incarnation: 1}}})
	r.observe(Leases{}, at0.Add(time.Second))
	if got := r.standing("a", 1, at0.Add(2*time.Second)); got != standsLive {
		t.Errorf("before the lease ran out: %d", got)
	}
	if got := r.standing("a", 1, at0.Add(testLease)); got != standsDoubtful {
		t.Errorf("after: %d", got)
	}
	if g := r.evidence(Generations{1}, at0.Add(testLease)); g[0] != 0 {
		t.Error("nobody has heard of a's sessions, and still it proves")
	}
	if g := r.until(testPatience).evidence(Generations{1}, at0.Add(testPatience)); g[0] != 1 {
		t.Error("a is waited for for ever")
	}
	r.forget(at0.Add(25 * time.Hour))
	if len(r.nodes) != 0 {
		t.Error("nodes are kept for ever")
	}
}

// Of the time in which this node did not look, a lease's length counts and no more.
func TestAbsenceIsLookedFor(t *testing.T) {
	l := Leases{Live: []Lease{live("a", 1)}, Known: []Sighting{{Node: "a", Incarnation: 1}}}
	for _, tt := range []struct {
		name   string
		blind  time.Duration // from the start
		looked time.Duration // behind it
		want   standing
	}{
		{"it stood still, and has not looked yet", time.Hour, -1, standsDoubtful},
		{"it has looked for the first time", time.Hour, 0, standsDoubtful},
		{"it has looked for a while", time.Hour, testPatience - testLease - 1, standsDoubtful},
		{"it has looked for as long as it takes", time.Hour, testPatience - testLease, standsForgotten},
		{"it always looked", testLease, testPatience - testLease, standsForgotten},
	} {
		for _, who := range []string{"a", "a stranger"} {
			r := told(l)
			r.standing("a stranger", 1, at0)
			now := at0.Add(tt.blind)
			for at := time.Duration(0); at <= tt.looked; at += time.Second {
				r.observe(Leases{Known: []Sighting{{Node: "a", Incarnation: 1, Age: tt.blind + at}}}, now.Add(at))
			}
			now = now.Add(max(tt.looked, 0))
			if got := r.standing(who, 1, now); got != tt.want {
				t.Errorf("%s: %s stands %d, want %d", tt.name, who, got, tt.want)
			}
			if g := r.evidence(Generations{1}, now); (g[0] == 0) != (tt.want == standsDoubtful) {
				t.Errorf("%s: the evidence is %d", tt.name, g[0])
			}
		}
	}
	r := told(Leases{Known: []Sighting{{Node: "a", Incarnation: 1, Age: testPatience}}})
	r.observe(Leases{}, at0.Add(time.Hour))
	if got := r.standing("a", 1, at0.Add(time.Hour)); got != standsForgotten {
		t.Errorf("a node that was taken for dead before: %d", got)
	}
}

func TestRosterFollowsIncarnations(t *testing.T) {
	r := told(Leases{Live: []Lease{live("a", 1)}})
	r.observe(Leases{Live: []Lease{live("a", 2)}, Known: []Sighting{{Node: "a", Incarnation: 2}}}, at0.Add(time.Second))
	if r.standing("a", 1, at0.Add(time.Second)) != standsDead || r.standing("a", 2, at0.Add(time.Second)) != standsLive {
		t.Error("the later process does not count, or the earlier does")
	}
	if r.knows("a", 1) || !r.knows("a", 2) || r.knows("x", 1) || !r.knows("b", 6) {
		t.Error("knows")
	}
	r.observe(Leases{Known: []Sighting{{Node: "a", Incarnation: 2, Released: true}}}, at0.Add(2*time.Second))
	if r.standing("a", 2, at0.Add(2*time.Second)) != standsDead {
		t.Error("goodbye is not heard")
	}
	r.observe(Leases{Live: []Lease{live("a", 3)}, Known: []Sighting{{Node: "a", Incarnation: 3}}}, at0.Add(3*time.Second))
	if r.standing("a", 3, at0.Add(3*time.Second)) != standsLive {
		t.Error("a node that came back does not count")
	}
}

// An answer that was overtaken brings nothing back.
func TestOvertakenLeasesAreIgnored(t *testing.T) {
	with := live("a", 1)
	with.Generations = Generations{11}
	of := func(l Lease) Leases {
		return Leases{Live: []Lease{l}, Known: []Sighting{{Node: l.Node, Incarnation: l.Incarnation}}}
	}
	for _, tt := range []struct {
		name        string
		later, late Leases
		incarnation uint64
		want        standing
	}{
		{"generations that were taken back", of(live("a", 1)), of(with), 1, standsLive},
		{"the goodbye of an earlier process", of(live("a", 2)), Leases{Known: []Sighting{{Node: "a", Incarnation: 1, Released: true}}}, 2, standsLive},
		{"an earlier process", of(live("a", 2)), of(with), 1, standsDead},
		{"a node that has said goodbye since", Leases{Known: []Sighting{{Node: "a", Incarnation: 1, Released: true}}}, of(with), 1, standsDead},
	} {
		r := told(tt.later)
		r.observe(tt.late, at0.Add(-1))
		if got := r.standing("a", tt.incarnation, at0); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
		if g := r.evidence(Generations{11}, at0)[0]; g != 0 && tt.want == standsLive {
			t.Errorf("%s: it proves again", tt.name)
		}
	}
}

func TestEvidence(t *testing.T) {
	with := func(l Lease, g ...uint64) Lease {
		copy(l.Generations[:], g)
		return l
	}
	carried := Generations{11, 12}
	for _, tt := range []struct {
		name string
		l    Leases
		want Generations
	}{
		{"alone", Leases{}, Generations{11, 12}},
		{"another has them, too", Leases{Live: []Lease{with(live("a", 1), 11, 12)}}, Generations{11, 12}},
		{"another has one of them", Leases{Live: []Lease{with(live("a", 1), 11, 99)}}, Generations{11, 0}},
		{"another has none", Leases{Live: []Lease{live("a", 1)}}, Generations{}},
		{"one of two has none", Leases{Live: []Lease{with(live("a", 1), 11, 12), live("c", 1)}}, Generations{}},
		{"another was cut off", Leases{Known: []Sighting{{Node: "a", Incarnation: 1, Age: 20 * time.Second}}}, Generations{}},
		{"another was cut off long ago", Leases{Known: []Sighting{{Node: "a", Incarnation: 1, Age: testPatience}}}, Generations{11, 12}},
		{"another said goodbye", Leases{Known: []Sighting{{Node: "a", Incarnation: 1, Released: true}}}, Generations{11, 12}},
	} {
		r := told(tt.l)
		if got := r.evidence(carried, at0); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got[:2])
		}
	}
	r := told(Leases{})
	if got := r.evidence(Generations{}, at0); got != (Generations{}) {
		t.Errorf("this node has none: got %v", got[:2])
	}
}

func TestElected(t *testing.T) {
	for _, tt := range []struct {
		name string
		l    Leases
		want bool
	}{
		{"alone", Leases{}, true},
		{"the first by name", Leases{Live: []Lease{live("b", 7), live("c", 1)}}, true},
		{"not the first", Leases{Live: []Lease{live("a", 1), live("b", 7)}}, false},
		{"the first is gone", Leases{Known: []Sighting{{Node: "a", Incarnation: 1}}}, true},
	} {
		r := told(tt.l)
		if got := r.elected(at0); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

func TestForeign(t *testing.T) {
	of := func(node, epoch string) Lease {
		l := live(node, 1)
		l.Epoch = epoch
		return l
	}
	for _, tt := range []struct {
		name string
		l    Leases
		want bool
	}{
		{"alone", Leases{Live: []Lease{of("b", "mine")}}, false},
		{"the same store's", Leases{Live: []Lease{of("a", "mine")}}, false},
		{"another store's", Leases{Live: []Lease{of("a", "mine"), of("c", "other")}}, true},
	} {
		r := told(tt.l)
		if _, got := r.foreign("mine", at0); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
		if _, got := r.foreign("mine", at0.Add(testLease)); got {
			t.Errorf("%s: a lapsed lease counts", tt.name)
		}
	}
}

func TestLapsed(t *testing.T) {
	r := told(Leases{Live: []Lease{live("a", 1)}, Known: []Sighting{{Node: "gone", Incarnation: 1, Released: true}}})
	for _, tt := range []struct {
		since, now time.Duration
		want       bool
	}{
		{0, testLease, false},
		{testPatience - 2, testPatience - 1, false},
		{testPatience - 1, testPatience, true},
		{testPatience, testPatience + 1, false},
	} {
		if got := r.lapsed(at0.Add(tt.since), at0.Add(tt.now)); got != tt.want {
			t.Errorf("between %v and %v: got %v", tt.since, tt.now, got)
		}
	}
}

func TestLongest(t *testing.T) {
	l := live("a", 1)
	l.TTL = 2 * time.Hour
	r := told(Leases{Live: []Lease{l}})
	if got := r.longest(at0); got != 2*time.Hour {
		t.Errorf("got %v", got)
	}
	if got := r.longest(at0.Add(testLease)); got != time.Hour {
		t.Errorf("after it has lapsed: got %v", got)
	}
}
