package routetest

import (
	"time"

	"lifeline/server/route"
)

var exclusiveTests = []test{{"one session per platform, if that is the rule", testExclusive}}

func testExclusive(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1, ExclusivePlatform: true})
	on := func(device string, conn, instance uint64, platform uint8, later uint64) route.Session {
		s := r.session("alice", device, conn, 0)
		s.Instance, s.Platform, s.Started = instance, platform, s.Started.Add(time.Duration(later)*ttl/10)
		return s
	}
	first := []route.Session{on("old phone", 1, 1, 1, 0), on("web", 2, 2, 4, 0), on("x", 3, 3, 0, 0), on("y", 4, 4, 0, 0)}
	r.register(a, first...)
	r.has(a, "alice", "old phone=a/1", "web=a/2", "x=a/3", "y=a/4")

	b := r.node(route.Self{Node: "b", Incarnation: 2, ExclusivePlatform: true})
	heard := r.listen(a)
	want(r, "another phone", r.register(b, on("new phone", 9, 9, 1, 2)), route.TookOver)
	r.has(a, "alice", "new phone=b/9", "web=a/2", "x=a/3", "y=a/4")
	want(r, "the old phone again", r.register(a, first[0]), route.RefusedDisplaced)
	want(r, "its removal", r.remove(a, route.Key{User: "alice", Device: "old phone", ConnID: 1, Node: "a", Incarnation: 1}), false)
	want(r, "the new phone again", r.register(b, on("new phone", 9, 9, 1, 2)), route.Kept)
	r.has(a, "alice", "new phone=b/9", "web=a/2", "x=a/3", "y=a/4")
	Eventually(r, "the old phone is told", func() bool { return len(heard.heard()) > 0 })
	want(r, "at a", heard.heard(), "1 2")
}
