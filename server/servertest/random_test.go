package servertest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/server/liveness"
)

// actor is one process of one device in TestRandomSessions. It acknowledges what it is told to.
type actor struct {
	login  Login
	client *Client
	pos    uint64 // of the last entry that came
	begun  bool   // Connack came
}

// take reads what has come, and checks that positions follow each other from the start that Connack names.
func (a *actor) take(t *testing.T) {
	for _, f := range a.client.Pending() {
		switch f := f.(type) {
		case *protocol.Connack:
			a.pos, a.begun = f.Start, true
		case *protocol.Push:
			for i := range f.Entries {
				e := &f.Entries[i]
				if !a.begun || e.Pos != a.pos+1 {
					t.Fatalf("%s/%s got position %d after %d", a.login.User, a.login.Device, e.Pos, a.pos)
				}
				if a.pos = e.Pos; e.Kind == protocol.EntryVoid {
					a.pos = e.Void.To
				}
			}
		}
	}
}

// act does one of 16 things.
func (a *actor) act(n *Node, op int, arg byte) {
	if op == 0 || a.client == nil {
		a.login.Attempt++
		a.login.Activity = protocol.Activity(1 + arg>>1%3)
		a.login.HasPos, a.login.Pos, a.login.Epoch = arg&8 != 0, a.pos, n.Mem.Epoch()
		if a.client = n.Dial(int(arg % 2)); a.client != nil {
			a.begun = false
			a.client.Send(a.login.Frame())
		}
		return
	}
	c, to := a.client, [...]string{"bob", "alice"}[arg%2]
	switch op {
	case 1:
		c.Close()
		a.client = nil
	case 2:
		c.Break()
	case 3:
		c.Stall()
	case 4:
		c.Resume()
	case 5:
		c.Read(int(arg) * 100)
	case 6:
		c.requests++
		c.Send(&protocol.Send{ID: c.requests, To: protocol.ToUser, ToID: []byte(to), ClientID: []byte{arg, byte(c.requests)},
			Payload: make([]byte, int(arg)*120), SkipOrder: arg&2 != 0})
	case 7:
		c.Ack(a.pos)
	case 8:
		c.Ack(uint64(arg))
	case 9:
		c.Send(&protocol.Pull{ID: 1, Conversation: []byte("alice\x1fbob"), FromSeq: 1, ToSeq: 1 + uint64(arg)})
	case 10:
		c.Send(&protocol.State{Activity: protocol.Activity(arg % 5)})
	case 11:
		c.Send(&protocol.Ping{EchoAfterS: uint32(arg)})
	case 12:
		c.Send(&protocol.Bye{Reason: protocol.ByeReason(arg % 3)})
	case 13:
		c.Write([]byte{arg})
	case 14:
		c.Send(&protocol.Presence{ID: 1, Users: [][]byte{[]byte(to)}})
	case 15:
		Idle(time.Duration(arg) * 100 * time.Millisecond)
	}
}

// shortLived gives silent sessions up within two minutes.
var shortLived = liveness.Policy{
	Foreground:   liveness.Pace{Min: 5 * time.Second, Interval: 5 * time.Second},
	Background:   liveness.Range{Min: 10 * time.Second, Interval: 10 * time.Second, Max: 30 * time.Second},
	SlowMax:      30 * time.Second,
	Desktop:      10 * time.Second,
	EchoesPerDay: 24,
	Hold:         liveness.Hold{Foreground: 5 * time.Second, Background: 10 * time.Second},
}

// TestRandomSessions has two processes of one device, another device of the same user and a device of another user do
// anything, in any order. On every connection positions must follow each other; when all fall silent nothing must be left
// of them.
func TestRandomSessions(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			script(t, func(t *testing.T) { randomSessions(t, rand.New(rand.NewPCG(seed, 5))) })
		})
	}
}

func randomSessions(t *testing.T, rng *rand.Rand) {
	n := Start(t, 2, func(o *server.CoreOptions) { o.PushWindow, o.Lane, o.Heartbeat = 8, 8, shortLived })
	actors := []*actor{
		{login: Login{User: "bob", Device: "phone", Instance: 1}}, {login: Login{User: "bob", Device: "phone", Instance: 2}},
		{login: Login{User: "bob", Device: "desktop", Platform: protocol.Desktop}}, {login: Login{User: "alice", Device: "phone"}},
	}
	deeds := []int{0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 8, 9, 10, 11, 11, 12, 13, 14, 15, 15}
	for range 200 {
		actors[rng.IntN(len(actors))].act(n, deeds[rng.IntN(len(deeds))], byte(rng.Uint32()))
		for _, a := range actors {
			if a.client != nil {
				a.take(t)
			}
		}
	}
	atEnd(t, n, actors)
}

// atEnd lets everything fall silent and checks that nothing is left.
func atEnd(t *testing.T, n *Node, actors []*actor) {
	t.Helper()
	synctest.Wait()
	for _, a := range actors {
		if a.client != nil {
			a.take(t)
		}
	}
	Idle(2 * time.Minute)
	synctest.Wait()
	if c, s, u := n.Core.Connections(), n.Core.Sessions(), n.Gauge("lifeline_users_present"); c != 0 || s != 0 || u != 0 {
		t.Errorf("left: %d connections, %d sessions, %v users", c, s, u)
	}
	for _, state := range []string{"probing", "suspect", "lagging"} {
		if got := n.Gauge(fmt.Sprintf("lifeline_sessions_in_doubt{state=%q}", state)); got != 0 {
			t.Errorf("left: %v sessions %s", got, state)
		}
	}
	if got := n.Gauge("lifeline_unfinished_bytes"); got != 0 {
		t.Errorf("left: %v bytes", got)
	}
	for _, name := range []string{"lifeline_panics_total", "lifeline_leaked_sessions_total"} {
		if got := n.Counter(name); got != 0 {
			t.Errorf("%s is %d", name, got)
		}
	}
}
