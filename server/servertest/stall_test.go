package servertest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
)

const (
	stallLoops = 4
	stallFor   = 500 * time.Millisecond
	speaks     = 150 * time.Millisecond // into a second
)

// TestAStallHarmsNobody: loops that stand still for half a second, as under a long collection, find frames that came
// before a deadline and are read behind it. Each session is let come to the edge of one state, over and over, and speaks
// in the last moment, which is often one in which its loop stands still.
func TestAStallHarmsNobody(t *testing.T) {
	for _, tt := range []struct {
		name    string
		edge    func(liveness.PathState) bool // the next step of the path is the one that must not happen
		seconds int
		never   []liveness.Path // states that nobody may come to
		reached []liveness.Path // states that everybody comes to
	}{
		{"before a Probe", func(p liveness.PathState) bool { return p.Path == liveness.PathActive }, 160,
			[]liveness.Path{liveness.PathProbing, liveness.PathSuspect, liveness.PathClosed}, nil},
		{"before Suspect", func(p liveness.PathState) bool { return p.Path == liveness.PathProbing && p.Again }, 200,
			[]liveness.Path{liveness.PathSuspect, liveness.PathClosed}, []liveness.Path{liveness.PathProbing}},
		{"before the end", func(p liveness.PathState) bool { return p.Path == liveness.PathSuspect }, 260,
			[]liveness.Path{liveness.PathClosed}, []liveness.Path{liveness.PathProbing, liveness.PathSuspect}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script(t, func(t *testing.T) {
				n := Start(t, stallLoops, Room(stallSessions))
				c, spoken := newCrowd(n), 0
				for second := range tt.seconds {
					spoken += c.live(second, tt.edge)
				}
				came := func(p liveness.Path) int { return n.Counter(fmt.Sprintf(`lifeline_paths_total{state=%q}`, p)) }
				for _, p := range tt.never {
					if got := came(p); got != 0 {
						t.Errorf("%d sessions came to be %v", got, p)
					}
				}
				for _, p := range tt.reached {
					if got := came(p); got < stallSessions {
						t.Errorf("only %d sessions came to be %v: little was proven", got, p)
					}
				}
				if got, want := n.Counter("lifeline_late_ticks_total"), tt.seconds*stallLoops/7; got < want {
					t.Errorf("loops noticed %d standstills, want %d", got, want)
				}
				if spoken < stallSessions {
					t.Errorf("only %d sessions spoke in the last moment: little was proven", spoken)
				}
				if got := n.Core.Sessions(); got != stallSessions {
					t.Errorf("%d sessions are left of %d", got, stallSessions)
				}
				for _, name := range n.Set.ListMetricNames() {
					if strings.HasPrefix(name, "lifeline_closes_total") && n.Counter(name) != 0 {
						t.Errorf("%s is %d", name, n.Counter(name))
					}
				}
				if got := n.Counter("lifeline_leaked_sessions_total"); got != 0 {
					t.Errorf("%d leaked", got)
				}
			})
		})
	}
}

// crowd is many devices that say nothing by themselves, and on each loop one that tells what time it is there.
type crowd struct {
	n         *Node
	devices   [stallLoops][]*Client
	witnesses [stallLoops]*Client
}

// newCrowd logs in, spread over a minute so that deadlines are.
func newCrowd(n *Node) *crowd {
	c := &crowd{n: n}
	for i := range stallSessions {
		device, _ := n.Login(i%stallLoops, Login{User: fmt.Sprint("user-", i), Device: "phone"})
		if i < stallLoops {
			c.witnesses[i] = device
			continue
		}
		c.devices[i%stallLoops] = append(c.devices[i%stallLoops], device)
		if i%25 == 0 {
			Idle(100 * time.Millisecond)
		}
	}
	return c
}

// live lets a second pass, in which those who are on their edge would come over it. They speak behind its first tick. Now
// and then their loop stands still meanwhile, and reads that tick before what they say.
func (c *crowd) live(second int, edge func(liveness.PathState) bool) (spoken int) {
	for i := range c.devices {
		last := c.onEdge(i, edge)
		spoken += len(last)
		stalls, into := second%7 == i, time.Duration(second%10)*10*time.Millisecond
		go func() {
			resume := func() {}
			Idle(into)
			if stalls {
				resume = c.n.Pause(i)
			}
			Idle(speaks - into)
			for _, device := range last {
				device.Arrive(&protocol.ProbeAck{})
			}
			Idle(stallFor - (speaks - into))
			resume()
		}()
	}
	Idle(time.Second)
	synctest.Wait()
	return spoken
}

// onEdge lists the devices of a loop of which the path is to take its next step within a second of the next tick.
func (c *crowd) onEdge(i int, edge func(liveness.PathState) bool) (last []*Client) {
	c.witnesses[i].Send(&protocol.ProbeAck{})
	c.n.loops[i].do(func() {
		now := c.witnesses[i].conn.session.LastIn
		for _, device := range c.devices[i] {
			s := device.conn.session
			facts := liveness.PathFacts{LastIn: s.LastIn, Interval: time.Duration(s.Interval) * time.Second, Hold: liveness.DefaultPolicy().Hold}
			if path := s.Line.Path(now); edge(path) && path.Due(facts).Sub(now) <= 1100*time.Millisecond {
				last = append(last, device)
			}
		}
	})
	return last
}
