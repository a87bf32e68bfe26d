package servertest

import (
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// TestNothingFollowsAClose [P-6.32]: what comes behind it is thrown away and not answered, and the connection goes when the
// client hangs up, or after two seconds.
func TestNothingFollowsAClose(t *testing.T) {
	for _, hangsUp := range []bool{true, false} {
		script(t, func(t *testing.T) {
			n := Start(t, 1)
			bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
			bob.Send(&protocol.Bye{})
			bob.ExpectClose(protocol.CodeBye)
			bob.Post("alice", "1", "too late")
			bob.Send(&protocol.Ping{})
			bob.Write([]byte{0x00}) // a fault of framing, for which another Close would be due
			wantTypes(t, "behind the Close", silentFor(bob, 1500*time.Millisecond))
			if start, err := n.Mem.Start("alice", "phone"); err != nil || start.Head != 0 {
				t.Errorf("a message behind Bye was stored: %+v, %v", start, err)
			}
			if n.Core.Connections() != 1 {
				t.Fatal("the client had no time to read its Close")
			}
			if hangsUp {
				bob.Close()
			} else {
				Idle(time.Second)
			}
			synctest.Wait()
			if got := n.Core.Connections(); got != 0 {
				t.Errorf("%d connections are left", got)
			}
		})
	}
}

// TestEachByeHasItsAnswer [P-6.31]
func TestEachByeHasItsAnswer(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		for reason, want := range map[protocol.ByeReason]protocol.Code{protocol.ByeQuit: protocol.CodeBye, protocol.ByeLogout: protocol.CodeLoggedOut} {
			bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
			bob.Send(&protocol.Bye{Reason: reason})
			bob.ExpectClose(want)
		}
	})
}
