package servertest

import (
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/store"
)

// TestAPanicWhileASessionLeaves: the way out must be whole whatever happens on it, or the user would stay in the index and
// the directory for ever.
func TestAPanicWhileASessionLeaves(t *testing.T) {
	for _, tt := range []struct {
		name  string
		leave func(*Client)
	}{
		{"by a Bye", func(c *Client) { c.Send(&protocol.Bye{}) }},
		{"by a fault", func(c *Client) { c.Write([]byte{0}) }},
		{"by an end of file", func(c *Client) { c.Close() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script(t, func(t *testing.T) {
				var faults Faults
				n := Start(t, 1, WithFaults(&faults, 1))
				bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
				cid, _ := n.Login(0, Login{User: "cid", Device: "phone"})
				faults.OnAck(func(a store.Ack) {
					if a.Leaving {
						panic("as the test wants it")
					}
				})
				tt.leave(cid)
				cid.ExpectEnd()
				Idle(5 * time.Second)
				faults.OnAck(nil)
				if got := n.Counter("lifeline_panics_total"); got != 1 {
					t.Errorf("%d panics counted", got)
				}
				if s, c, u := n.Core.Sessions(), n.Core.Connections(), n.Gauge("lifeline_users_present"); s != 1 || c != 1 || u != 1 {
					t.Errorf("left: %d sessions, %d connections, %v users", s, c, u)
				}
				alive(t, n, bob)
			})
		})
	}
}

// TestAPanicInAPresenceRefusesIt: the policy that says who may see whom is not ours.
func TestAPanicInAPresenceRefusesIt(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1, func(o *server.CoreOptions) {
			o.MaySee = func(_, user string) bool { return user != "bob" || panics() }
		})
		ann, _ := n.Login(0, Login{User: "ann", Device: "phone"})
		n.Login(0, Login{User: "cid", Device: "phone"})
		for range 8 {
			ann.Send(&protocol.Presence{ID: 7, Users: [][]byte{[]byte("bob")}})
			if e := Expect[*protocol.Error](ann); e.ID != 7 || e.Status.Code != protocol.CodeBusy {
				t.Fatalf("got %s", e.AppendText(nil))
			}
		}
		if got := ann.ask("cid"); got[0].State != protocol.Online {
			t.Fatalf("got %+v", got)
		}
		if got := n.Counter("lifeline_panics_total"); got != 8 {
			t.Errorf("%d panics counted", got)
		}
	})
}

func panics() bool { panic("as the test wants it") }
