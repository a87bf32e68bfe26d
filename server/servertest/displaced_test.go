package servertest

import (
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route"
)

// TestADisplacedProcessThatComesBackIsRefused: it may never have read that it was displaced, and comes back to the node
// that it was connected to [P-6.4]. It must not take the place of the process that took its own, which may be on
// another node.
func TestADisplacedProcessThatComesBackIsRefused(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		script(t, func(t *testing.T) {
			table := route.NewMemory(nil)
			a := Start(t, 2, Share(table, "a", 1))
			b := a
			if nodes == 2 {
				b = Start(t, 2, Share(table, "b", 1))
			}
			Idle(20 * time.Second)
			old, _ := a.Login(0, Login{User: "bob", Device: "phone", Instance: 1, Attempt: 1})
			Idle(time.Second)
			newer, _ := b.Login(1, Login{User: "bob", Device: "phone", Instance: 2, Attempt: 1})
			old.ExpectClose(protocol.CodeDisplaced)
			for attempt := range uint64(3) {
				Idle(15 * time.Second)
				again := a.Dial(0)
				again.Send(Login{User: "bob", Device: "phone", Instance: 1, Attempt: 2 + attempt}.Frame())
				if f, ok := again.Next().(*protocol.Close); !ok || f.Status.Code != protocol.CodeDisplaced {
					t.Fatalf("%d nodes: attempt %d is taken", nodes, attempt)
				}
			}
			newer.Send(&protocol.Ping{})
			Expect[*protocol.Pong](newer)
			Idle(time.Minute)
			a.Login(0, Login{User: "bob", Device: "phone", Instance: 1, Attempt: 5}) // by then it is meant
		})
	}
}
