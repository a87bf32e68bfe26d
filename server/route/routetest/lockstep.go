package routetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"lifeline/server/route"
)

var lockstepTests = []test{{"random calls are answered as the plain table does", testLockstep}}

// testLockstep gives the same calls to the world under test and to the table in memory.
func testLockstep(r *rig) {
	selves := []route.Self{
		{Node: "a", Incarnation: 1}, {Node: "a", Incarnation: 2}, {Node: "b", Incarnation: 1},
		{Node: "c", Incarnation: 3, ExclusivePlatform: true},
	}
	model := route.NewMemory(nil)
	var judged, plain []route.Table
	for i := range selves {
		selves[i].TTL, selves[i].Directory = ttl, "disk"
		judged = append(judged, r.node(selves[i]))
		plain = append(plain, model.Table(selves[i], nil))
	}
	rng := rand.New(rand.NewPCG(11, uint64(r.skew)))
	epoch := time.Now()
	for step := range 4000 {
		n := rng.IntN(len(selves))
		// Ages are far apart on different nodes, so that it does not matter how long a call takes.
		instance := rng.Uint64N(3)
		age := time.Duration(rng.IntN(50))*time.Minute + time.Duration(n)*15*time.Second
		s := route.Session{User: fmt.Sprint("user ", rng.IntN(3)), Device: fmt.Sprint("device ", rng.IntN(3)),
			ConnID: rng.Uint64N(6) + 1, Instance: instance, Attempt: rng.Uint64N(3), Platform: uint8(rng.IntN(3))}
		s.Order = s.ConnID
		mine, theirs := s, s
		skewed := r.nowOf(n)
		mine.Started, mine.Seen = skewed.Add(-age-time.Since(epoch)), skewed
		theirs.Started, theirs.Seen = epoch.Add(-age), time.Now()
		key := selves[n].Key(s.User, s.Device, s.ConnID)
		var got, want any
		switch what := rng.IntN(10); {
		case what < 5:
			got = r.register(judged[n], mine)[0]
			want = r.register(plain[n], theirs)[0]
		case what < 7:
			got = r.remove(judged[n], key)[0]
			want = r.remove(plain[n], key)[0]
		default:
			got = r.refresh(judged[n], mine)[0]
			want = r.refresh(plain[n], theirs)[0]
		}
		if got != want {
			r.Fatalf("step %d: node %d, %+v, age %v: got %v, want %v", step, n, s, age, got, want)
		}
		r.sameRecords(step, judged[n], plain[n], s.User)
	}
}

func (r *rig) sameRecords(step int, judged, plain route.Table, user string) {
	r.Helper()
	got, want := r.lookup(judged, user), r.lookup(plain, user)
	if len(got.Records) != len(want.Records) {
		r.Fatalf("step %d: %+v, want %+v", step, got.Records, want.Records)
	}
	for i := range got.Records {
		g, w := got.Records[i], want.Records[i]
		if d := got.Now.Sub(g.Since) - want.Now.Sub(w.Since); d.Abs() > 14*time.Second {
			r.Fatalf("step %d: %s is %v older than it should be", step, g.Device, d)
		}
		g.Since, g.LastSeen, g.Expiry = w.Since, w.LastSeen, w.Expiry
		if g != w {
			r.Fatalf("step %d: got %+v, want %+v", step, g, w)
		}
	}
}

// nowOf is the clock of the n-th node opened.
func (r *rig) nowOf(n int) time.Time {
	if n%2 == 1 {
		return time.Now().Add(-r.skew)
	}
	return time.Now().Add(r.skew)
}
