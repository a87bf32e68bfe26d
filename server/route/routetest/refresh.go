package routetest

import (
	"time"

	"lifeline/server/route"
)

var refreshTests = []test{
	{"a refresh prolongs and tells of the line", testRefresh},
	{"a refresh touches nobody else's record", testRefreshForeign},
	{"a refresh never brings a record back", testRefreshMissing},
	{"a refreshed record outlives its time", testRefreshOutlives},
}

func testRefresh(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	s := r.session("alice", "phone", 1, time.Hour)
	s.Seen = r.now().Add(-time.Minute)
	r.register(a, s)
	first := r.lookup(a, "alice").Records[0]

	s.Seen, s.Suspect = r.now().Add(-time.Second), true
	want(r, "refresh", r.refresh(a, s), route.Ours)
	second := r.lookup(a, "alice").Records[0]
	const least = 30 * time.Second // of 59; an answer that came late makes a node think that it is earlier
	if moved := second.LastSeen.Sub(first.LastSeen); moved < least {
		r.Errorf("last seen moved by %v only", moved)
	}
	if d := second.Expiry.Sub(second.LastSeen); d != ttl || !second.Suspect {
		r.Errorf("the record ends %v after it was seen, suspect %v", d, second.Suspect)
	}
	second.LastSeen, second.Expiry, second.Suspect = first.LastSeen, first.Expiry, false
	if second != first {
		r.Errorf("more has changed: %+v, was %+v", second, first)
	}

	s.Seen, s.Suspect = r.now().Add(-time.Hour/2), false
	r.refresh(a, s)
	if third := r.lookup(a, "alice").Records[0]; third.LastSeen.Before(first.LastSeen.Add(least)) || third.Suspect {
		r.Errorf("a refresh moved last seen back: %+v", third)
	}
}

func testRefreshForeign(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	old := r.session("alice", "phone", 1, time.Hour)
	r.register(a, old)
	b := r.node(route.Self{Node: "b", Incarnation: 2})
	r.register(b, r.session("alice", "phone", 1, 0))
	before := r.lookup(b, "alice").Records[0]
	old.Suspect = true
	want(r, "of the loser", r.refresh(a, old), route.TakenOver)
	other := r.node(route.Self{Node: "b", Incarnation: 3})
	want(r, "of another incarnation", r.refresh(other, old), route.TakenOver)
	if after := r.lookup(b, "alice").Records[0]; after != before {
		r.Errorf("the record has changed: %+v, was %+v", after, before)
	}
}

func testRefreshMissing(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	s := r.session("alice", "phone", 1, 0)
	want(r, "before it is registered", r.refresh(a, s), route.Missing)
	r.register(a, s)
	r.remove(a, route.Key{User: "alice", Device: "phone", ConnID: 1, Node: "a", Incarnation: 1})
	want(r, "after it was removed", r.refresh(a, s), route.Missing)
	r.has(a, "alice")
}

func testRefreshOutlives(r *rig) {
	const short = 250 * time.Millisecond
	a := r.node(route.Self{Node: "a", Incarnation: 1, TTL: short})
	phone, web := r.session("alice", "phone", 1, 0), r.session("alice", "web", 2, 0)
	r.register(a, phone, web)
	until := r.lookup(a, "alice").Now.Add(3 * short)
	Eventually(r, "the refreshed record outlives the other", func() bool {
		phone.Seen = r.now()
		if r.refresh(a, phone)[0] != route.Ours {
			phone = r.session("alice", "phone", 1, 0) // this test was not run for too long
			r.register(a, phone)
		}
		l := r.lookup(a, "alice")
		return l.Now.After(until) && len(l.Records) == 1 && l.Records[0].Device == "phone"
	})
	Eventually(r, "it ends when it is refreshed no more", func() bool { return len(r.lookup(a, "alice").Records) == 0 })
}
