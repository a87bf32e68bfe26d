package routetest

import (
	"fmt"
	"time"

	"lifeline/server/route"
)

var registerTests = []test{
	{"a registered session is found as it is", testRegister},
	{"registering again changes nothing but the times", testRegisterAgain},
	{"the newer connection wins, in either order", testNewerWins},
	{"an expired record blocks nobody", testExpiredBlocksNobody},
	{"devices of a user stand side by side", testDevices},
	{"a batch is answered in order", testBatchOrder},
	{"a batch has a limit", testBatchLimit},
	{"ids may hold any byte", testAnyBytes},
}

func testRegister(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1<<64 - 1, TTL: ttl})
	s := route.Session{User: "alice", Device: "phone", ConnID: 1<<63 + 5, Instance: 1<<64 - 1, Attempt: 1<<53 + 1, Order: 7,
		Platform: 3, Suspect: true, Started: r.now().Add(-time.Minute), Seen: r.now().Add(-10 * time.Second)}
	before := r.lookup(a, "alice").Now
	want(r, "register", r.register(a, s), route.Created)
	after := r.lookup(a, "alice")
	if len(after.Records) != 1 {
		r.Fatalf("got %d records", len(after.Records))
	}
	got := after.Records[0]
	for _, tt := range []struct {
		what string
		at   time.Time
		ago  time.Duration
	}{
		{"since", got.Since, time.Minute},
		{"last seen", got.LastSeen, 10 * time.Second},
		{"expiry", got.Expiry, 10*time.Second - ttl},
	} {
		const slack = time.Second // half the way of a command; clocks that differ do so by more
		if at := tt.at.Add(tt.ago); at.Before(before.Add(-slack)) || at.After(after.Now.Add(slack)) {
			r.Errorf("%s %v before its time is %v, not within %v and %v", tt.what, tt.ago, at, before, after.Now)
		}
	}
	got.Since, got.LastSeen, got.Expiry = time.Time{}, time.Time{}, time.Time{}
	if want := (route.Record{User: "alice", Device: "phone", ConnID: 1<<63 + 5, Node: "a", Incarnation: 1<<64 - 1,
		Instance: 1<<64 - 1, Attempt: 1<<53 + 1, Order: 7, Platform: 3, Suspect: true}); got != want {
		r.Errorf("got %+v\nwant %+v", got, want)
	}
}

func testRegisterAgain(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	s := r.session("alice", "phone", 1, time.Minute)
	r.register(a, s)
	first := r.lookup(a, "alice").Records[0]
	s.Started, s.Seen, s.Suspect = s.Started.Add(20*time.Second), s.Seen.Add(-time.Second), true
	want(r, "again", r.register(a, s), route.Kept)
	second := r.lookup(a, "alice").Records[0]
	if !second.Since.Equal(first.Since) {
		r.Errorf("since moved from %v to %v", first.Since, second.Since)
	}
	if !second.Suspect || !second.LastSeen.Before(first.LastSeen) {
		r.Errorf("what the session said last is not there: %+v", second)
	}
}

// contender is one side of testNewerWins.
type contender struct {
	node        string
	incarnation uint64
	instance    uint64
	attempt     uint64
	order       uint64
	age         time.Duration
}

func (c contender) session(r *rig, conn uint64) route.Session {
	s := r.session("alice", "phone", conn, c.age)
	s.Instance, s.Attempt, s.Order = c.instance, c.attempt, c.order
	return s
}

func testNewerWins(r *rig) {
	const many = 1<<53 + 1 // beyond what a double holds
	for _, tt := range []struct {
		name         string
		older, newer contender
		loses        route.Outcome // of the older one when it comes second
	}{
		{"a later attempt on another node, though it connected earlier",
			contender{"a", 1, 9, many, 1, time.Second}, contender{"b", 2, 9, many + 1, 1, time.Minute}, route.RefusedSuperseded},
		{"the same attempt, later, on another node",
			contender{"a", 1, 9, 3, 1, time.Minute}, contender{"b", 2, 9, 3, 1, time.Second}, route.RefusedSuperseded},
		{"another process, later, with a smaller attempt",
			contender{"a", 1, 8, 5, 1, time.Minute}, contender{"b", 2, 9, 1, 1, time.Second}, route.RefusedDisplaced},
		{"another process of the same node by its order, whatever the ages seem to be",
			contender{"a", 1, 8, 5, 1, time.Second}, contender{"a", 1, 9, 1, 2, time.Minute}, route.RefusedDisplaced},
		{"the same process on the same node by its attempt, whatever the order",
			contender{"a", 1, 9, 1, 2, time.Second}, contender{"a", 1, 9, 2, 1, time.Minute}, route.RefusedSuperseded},
		{"the same attempt on the same node by its order",
			contender{"a", 1, 9, 1, 1, time.Second}, contender{"a", 1, 9, 1, 2, time.Minute}, route.RefusedSuperseded},
	} {
		world := r.world
		older, newer := r.node(route.Self{Node: tt.older.node, Incarnation: tt.older.incarnation}), route.Table(nil)
		first := tt.older.session(r, 1)
		newer = r.node(route.Self{Node: tt.newer.node, Incarnation: tt.newer.incarnation})
		second := tt.newer.session(r, 2)
		winner := fmt.Sprintf("phone=%s/2", tt.newer.node)
		r.Log(tt.name)

		want(r, "the older one", r.register(older, first), route.Created)
		want(r, "then the newer one", r.register(newer, second), route.TookOver)
		r.has(newer, "alice", winner)
		want(r, "the older one again", r.register(older, first), tt.loses)
		r.has(newer, "alice", winner)
		world.Flush(r)
		want(r, "the newer one first", r.register(newer, second), route.Created)
		want(r, "then the older one", r.register(older, first), tt.loses)
		want(r, "the newer one again", r.register(newer, second), route.Kept)
		r.has(newer, "alice", winner)
		world.Flush(r)
	}

	r.Log("another incarnation of the same node is always older")
	old := r.node(route.Self{Node: "a", Incarnation: 1})
	r.register(old, r.session("alice", "phone", 1, 0))
	next := r.node(route.Self{Node: "a", Incarnation: 2})
	s := r.session("alice", "phone", 1, time.Hour)
	s.Instance, s.Attempt, s.Order = 1<<63, 0, 0
	want(r, "the next incarnation", r.register(next, s), route.TookOver)
}

func testExpiredBlocksNobody(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1, TTL: 30 * time.Millisecond})
	r.register(a, r.session("alice", "phone", 1, 0))
	Eventually(r, "the record expires", func() bool { return len(r.lookup(a, "alice").Records) == 0 })
	b := r.node(route.Self{Node: "b", Incarnation: 2})
	want(r, "a connection that is older", r.register(b, r.session("alice", "phone", 2, time.Hour)), route.Created)
	r.has(b, "alice", "phone=b/2")
}

func testDevices(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	r.register(a, r.session("alice", "phone", 1, 0), r.session("alice", "web", 2, 0))
	b := r.node(route.Self{Node: "b", Incarnation: 2})
	r.register(b, r.session("alice", "desktop", 1, 0), r.session("bob", "phone", 2, 0))
	r.has(a, "alice", "desktop=b/1", "phone=a/1", "web=a/2")
	r.has(a, "bob", "phone=b/2")
}

func testBatchOrder(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	var batch []route.Session
	var outcomes []route.Outcome
	for i := range uint64(route.MaxBatch) {
		s := r.session(fmt.Sprintf("user %d", i/2), "phone", i+1, 0)
		s.Attempt = 2 - i%2 // the second of each pair is older
		batch = append(batch, s)
		outcomes = append(outcomes, [...]route.Outcome{route.Created, route.RefusedSuperseded}[i%2])
	}
	want(r, "register", r.register(a, batch...), outcomes...)
	var keys []route.Key
	var removed []bool
	for i, s := range batch {
		keys = append(keys, route.Key{User: s.User, Device: s.Device, ConnID: s.ConnID, Node: "a", Incarnation: 1})
		removed = append(removed, i%2 == 0)
	}
	want(r, "remove", r.remove(a, keys...), removed...)
	want(r, "nothing", r.register(a))
}

func testBatchLimit(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	if _, err := a.Register(r.ctx, make([]route.Session, route.MaxBatch+1)); err == nil {
		r.Error("register took too many")
	}
	if _, err := a.Remove(r.ctx, make([]route.Key, route.MaxBatch+1)); err == nil {
		r.Error("remove took too many")
	}
	if _, err := a.Refresh(r.ctx, make([]route.Session, route.MaxBatch+1)); err == nil {
		r.Error("refresh took too many")
	}
	if _, err := a.Lookup(r.ctx, make([]string, route.MaxBatch+1)); err == nil {
		r.Error("lookup took too many")
	}
}

func testAnyBytes(r *rig) {
	a := r.node(route.Self{Node: "a-1.x_Y", Incarnation: 1})
	for i, id := range []string{" ", "{1}", "a:b", "|", "\"x\"", "漢字", "%d", "ll:route:{0}:x", "\x00\xff"} {
		conn := uint64(i + 1)
		r.register(a, r.session(id, id, conn, 0))
		r.has(a, id, fmt.Sprintf("%s=a-1.x_Y/%d", id, conn))
		want(r, "refresh", r.refresh(a, r.session(id, id, conn, 0)), route.Ours)
		want(r, "remove", r.remove(a, route.Key{User: id, Device: id, ConnID: conn, Node: "a-1.x_Y", Incarnation: 1}), true)
		r.has(a, id)
	}
}
