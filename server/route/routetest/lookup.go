package routetest

import (
	"fmt"
	"slices"
	"time"

	"lifeline/server/route"
)

var lookupTests = []test{
	{"500 users are looked up at once", testLookupMany},
	{"generations are drawn once, and anew when the table is emptied", testGenerations},
	{"a scan meets everything", testScan},
	{"a closed table and an ended context answer nothing", testClosed},
}

func testLookupMany(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	var users []string
	for i := range route.MaxBatch {
		users = append(users, fmt.Sprintf("user %03d", i))
		if i%5 == 0 {
			r.register(a, r.session(users[i], "phone", uint64(2*i+1), 0), r.session(users[i], "web", uint64(2*i+2), 0))
		}
	}
	r.register(a, r.session("stranger", "phone", 9999, 0))
	l := r.lookup(a, users...)
	if len(l.Records) != 2*route.MaxBatch/5 {
		r.Fatalf("got %d records", len(l.Records))
	}
	for i, rec := range l.Records {
		if user := users[i/2*5]; rec.User != user || rec.ConnID != uint64(10*(i/2)+1+i%2) {
			r.Fatalf("record %d is %+v, want one of %s", i, rec, user)
		}
		if d := l.Now.Sub(rec.LastSeen); d < 0 || d > time.Minute {
			r.Errorf("%s was seen %v before now", rec.User, d)
		}
	}
	if empty := r.lookup(a); len(empty.Records) != 0 {
		r.Errorf("nobody has records: %+v", empty.Records)
	}
}

func testGenerations(r *rig) {
	a, b := r.node(route.Self{Node: "a", Incarnation: 1}), r.node(route.Self{Node: "b", Incarnation: 2})
	if l := r.lookup(a, "alice"); l.Generations != (route.Generations{}) {
		r.Errorf("a look-up has drawn generations: %v", l.Generations)
	}
	first := r.generations(a)
	if !first.Whole() {
		r.Fatalf("not every bucket has a generation: %v", first)
	}
	if again := r.generations(b); again != first {
		r.Errorf("another node reads others")
	}
	users := []string{"alice", "bob", "carol"}
	l := r.lookup(b, users...)
	for bucket, g := range l.Generations {
		asked := slices.ContainsFunc(users, func(u string) bool { return route.Bucket(u) == bucket })
		if asked && g != first[bucket] || !asked && g != 0 {
			r.Errorf("bucket %d: got %d, drawn was %d, asked %v", bucket, g, first[bucket], asked)
		}
	}
	r.world.Flush(r)
	if l := r.lookup(a, "alice"); l.Generations[route.Bucket("alice")] != 0 {
		r.Error("an emptied table has a generation")
	}
	second := r.generations(b)
	for bucket := range second {
		if second[bucket] == first[bucket] || second[bucket] == 0 {
			r.Errorf("bucket %d has generation %d as before", bucket, second[bucket])
		}
	}
}

func testScan(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	b := r.node(route.Self{Node: "b", Incarnation: 2, TTL: 20 * time.Millisecond})
	r.renew(a, route.Lease{}, time.Minute)
	r.generations(a)
	want := map[string]int{}
	for i := range 3 * route.MaxBatch {
		user := fmt.Sprintf("user %d", i)
		want[user] = 1
		if r.register(a, r.session(user, "phone", uint64(i+1), 0)); i%10 == 0 {
			r.register(b, r.session(user, "web", uint64(i+1), 0)) // expires at once, beside one that does not
			want[user] = 2
		}
	}
	Eventually(r, "the short records expire", func() bool { return len(r.lookup(a, "user 1490").Records) == 1 })
	got := map[string]int{}
	steps, size, expired := 0, 0, 0
	for at := ""; ; steps++ {
		s, err := a.Scan(r.ctx, at)
		if err != nil {
			r.Fatalf("scan: %v", err)
		}
		size = max(size, s.Size)
		seen := map[[2]string]bool{}
		for _, rec := range s.Records {
			if !seen[[2]string{rec.User, rec.Device}] {
				seen[[2]string{rec.User, rec.Device}] = true
				got[rec.User] = max(got[rec.User], 0) + 1
			}
			if s.Now.After(rec.Expiry) {
				expired++
			}
		}
		if at = s.Next; at == "" || steps > 10_000 {
			break
		}
	}
	for user, n := range want {
		if got[user] < n {
			r.Fatalf("%s was met %d times, has %d records", user, got[user], n)
		}
	}
	if len(got) != len(want) || size < len(want) || expired == 0 {
		r.Errorf("%d users of %d, size %d, %d expired", len(got), len(want), size, expired)
	}
}

func testClosed(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	ended, cancel := contextEnded(r)
	defer cancel()
	if outcomes, err := a.Register(ended, []route.Session{r.session("alice", "phone", 1, 0)}); err == nil || outcomes[0] != route.Failed {
		r.Errorf("an ended context: %v, %v", outcomes, err)
	}
	r.has(a, "alice")
	for range 2 {
		if err := a.Close(); err != nil {
			r.Fatalf("close: %v", err)
		}
	}
	if _, err := a.Lookup(r.ctx, []string{"alice"}); err == nil {
		r.Error("a closed table has answered")
	}
	if outcomes, err := a.Register(r.ctx, []route.Session{r.session("alice", "phone", 1, 0)}); err == nil || outcomes[0] != route.Failed {
		r.Errorf("a closed table: %v, %v", outcomes, err)
	}
}
