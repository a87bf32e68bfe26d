package routetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"lifeline/server/route"
)

// Harness says how to open the tables under test.
type Harness struct {
	// World makes an empty world; what its function opens are views of several nodes of the same table. The test's end
	// closes everything. The nodes' clocks are given: none may matter.
	World func(testing.TB) World
}

// World is one table.
type World interface {
	// Open opens the table as a node sees it; now is that node's clock.
	Open(tb testing.TB, self route.Self, now func() time.Time) route.Table
	// Flush empties the table behind everyone's back.
	Flush(tb testing.TB)
}

// test is one test of the suite.
type test struct {
	name string
	run  func(*rig)
}

// Run runs every test, with clocks that agree and with clocks that do not.
func Run(t *testing.T, h Harness) {
	for _, skew := range []time.Duration{0, 5 * time.Second} {
		t.Run(fmt.Sprintf("clocks %v apart", 2*skew), func(t *testing.T) {
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					test.run(&rig{TB: t, world: h.World(t), skew: skew, ctx: t.Context()})
				})
			}
		})
	}
}

// rig is a world and the nodes of one test in it.
type rig struct {
	testing.TB
	world World
	skew  time.Duration
	ctx   context.Context
	nodes int
}

// ttl is long enough for every test that does not wait for it.
const ttl = time.Hour

// node opens the table as another node, whose clock is not the last one's.
func (r *rig) node(self route.Self) route.Table {
	r.Helper()
	if self.TTL == 0 {
		self.TTL = ttl
	}
	if self.Directory == "" {
		self.Directory = self.Node + "'s"
	}
	skew := r.skew
	if r.nodes++; r.nodes%2 == 0 {
		skew = -skew
	}
	return r.world.Open(r, self, func() time.Time { return time.Now().Add(skew) })
}

// clock is the clock of the node that was opened last.
func (r *rig) now() time.Time {
	if r.nodes%2 == 0 {
		return time.Now().Add(-r.skew)
	}
	return time.Now().Add(r.skew)
}

// patience bounds every wait. A Sentinel that stood still for two seconds does nothing for thirty.
const patience = 2 * time.Minute

// Eventually polls until a condition holds.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(patience); !holds(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not in time: %s", what)
		}
	}
}
