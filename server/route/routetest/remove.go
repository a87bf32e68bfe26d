package routetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lifeline/server/route"
)

var removeTests = []test{
	{"only the record of the very connection is removed", testRemoveByIdentity},
	{"a late removal never removes a newer connection", testInterleavings},
}

func testRemoveByIdentity(r *rig) {
	a := r.node(route.Self{Node: "a", Incarnation: 1})
	b := r.node(route.Self{Node: "b", Incarnation: 2})
	right := route.Key{User: "alice", Device: "phone", ConnID: 1, Node: "a", Incarnation: 1}
	r.register(a, r.session("alice", "phone", 1, 0))
	for _, wrong := range []route.Key{
		{User: "bob", Device: "phone", ConnID: 1, Node: "a", Incarnation: 1},
		{User: "alice", Device: "web", ConnID: 1, Node: "a", Incarnation: 1},
		{User: "alice", Device: "phone", ConnID: 2, Node: "a", Incarnation: 1},
		{User: "alice", Device: "phone", ConnID: 1, Node: "b", Incarnation: 1},
		{User: "alice", Device: "phone", ConnID: 1, Node: "a", Incarnation: 2},
	} {
		want(r, fmt.Sprintf("remove %+v", wrong), r.remove(a, wrong), false)
		r.has(a, "alice", "phone=a/1")
	}
	want(r, "another node removes it", r.remove(b, right), true)
	want(r, "twice", r.remove(b, right), false)
	r.has(a, "alice")
}

// interleavings is how many orders of events testInterleavings tries, with clocks that differ. With clocks that agree a
// tenth of that does.
const interleavings = 10_000

// testInterleavings lets a device connect several times to two nodes while registrations and removals arrive late, twice
// and in any order. Each attempt is its own interleaving of a user of its own; the steps of all run in batches. A
// removal must never take the record of another connection away, and the newest connection must win.
func testInterleavings(r *rig) {
	nodes := []route.Table{r.node(route.Self{Node: "a", Incarnation: 1}), r.node(route.Self{Node: "b", Incarnation: 2})}
	rng := rand.New(rand.NewPCG(uint64(r.skew), 5))
	scripts := make([]script, interleavings)
	if r.skew == 0 {
		scripts = scripts[:interleavings/10]
	}
	steps := 0
	for i := range scripts {
		scripts[i] = newScript(r, rng, fmt.Sprintf("user %d", i))
		steps = max(steps, len(scripts[i].steps))
	}
	for at := range steps {
		for chunk := range slices.Chunk(scripts, route.MaxBatch) {
			takeStep(r, nodes, chunk, at)
		}
	}
	for chunk := range slices.Chunk(scripts, route.MaxBatch) {
		verifyEnds(r, nodes[0], chunk)
	}
}

// script is one user's events, in the order in which the table gets them.
type script struct {
	user    string
	steps   []step
	newest  route.Key // the last connection
	removed bool      // it has ended, too
	holder  route.Key // whose record the table must have, by the rules
	attempt uint64    // of the holder
}

type step struct {
	node    int
	session route.Session
	remove  bool
}

func newScript(r *rig, rng *rand.Rand, user string) script {
	s := script{user: user}
	connections := 2 + rng.IntN(3)
	var registers, removes []step
	for i := range connections {
		session := r.session(user, "phone", uint64(rng.Int64N(1<<40))+1, 0)
		session.Attempt = uint64(i)
		at := step{node: rng.IntN(2), session: session}
		registers = append(registers, at)
		s.newest = key(at)
		at.remove = true
		if i < connections-1 {
			removes = append(removes, at)
		} else if s.removed = rng.IntN(2) == 0; s.removed {
			removes = append(removes, at)
		}
	}
	// Any order in which a connection's registration comes before its removal, with one removal sent twice.
	s.steps = registers
	rng.Shuffle(len(s.steps), func(i, j int) { s.steps[i], s.steps[j] = s.steps[j], s.steps[i] })
	for _, at := range append(removes, removes[0]) {
		after := 1 + slices.IndexFunc(s.steps, func(o step) bool { return !o.remove && o.session.ConnID == at.session.ConnID })
		s.steps = slices.Insert(s.steps, after+rng.IntN(len(s.steps)-after+1), at)
	}
	return s
}

func key(s step) route.Key {
	self := [...]route.Self{{Node: "a", Incarnation: 1}, {Node: "b", Incarnation: 2}}[s.node]
	return self.Key(s.session.User, s.session.Device, s.session.ConnID)
}

// takeStep runs one step of many scripts: the removals, then the registrations of each node. They are of different
// users, so their order among each other is free.
func takeStep(r *rig, nodes []route.Table, scripts []script, at int) {
	for n, table := range nodes {
		var keys []route.Key
		var batch []route.Session
		var removers, registrants []*script
		for i := range scripts {
			s := &scripts[i]
			switch {
			case at >= len(s.steps) || s.steps[at].node != n:
			case s.steps[at].remove:
				keys, removers = append(keys, key(s.steps[at])), append(removers, s)
			default:
				batch, registrants = append(batch, s.steps[at].session), append(registrants, s)
			}
		}
		for i, there := range r.remove(table, keys...) {
			s := removers[i]
			if there != (s.holder == keys[i]) {
				r.Fatalf("%s: step %d, removing %+v from %+v answered %v", s.user, at, keys[i], s.holder, there)
			}
			if there {
				s.holder = route.Key{}
			}
		}
		for i, o := range r.register(table, batch...) {
			s := registrants[i]
			wins := s.holder.ConnID == 0 || batch[i].Attempt > s.attempt
			if wins == (o.Refused() != 0) {
				r.Fatalf("%s: step %d, attempt %d over %d (%+v) answered %d", s.user, at, batch[i].Attempt, s.attempt, s.holder, o)
			}
			if wins {
				s.holder, s.attempt = key(s.steps[at]), batch[i].Attempt
			}
		}
	}
}

// verifyEnds checks that the table has exactly the holders, and the newest connection wherever it has not ended.
func verifyEnds(r *rig, table route.Table, scripts []script) {
	users := make([]string, len(scripts))
	for i := range scripts {
		users[i] = scripts[i].user
	}
	holders := make(map[string]route.Key)
	for _, rec := range r.lookup(table, users...).Records {
		holders[rec.User] = rec.Key()
	}
	for i := range scripts {
		s := &scripts[i]
		if holders[s.user] != s.holder {
			r.Fatalf("%s: the table has %+v, want %+v", s.user, holders[s.user], s.holder)
		}
		if !s.removed && s.holder != s.newest {
			r.Fatalf("%s: %+v holds the place of %+v", s.user, s.holder, s.newest)
		}
	}
}
