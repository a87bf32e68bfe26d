package servertest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server/session"
)

func TestTraceShowsTheFramesOfOneConnection(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		bob, hello := n.Login(1, Login{User: "bob", Device: "phone"})
		other, _ := n.Login(1, Login{User: "carol", Device: "phone"})
		var lines []string
		done := make(chan error)
		go func() {
			done <- n.Core.Trace(t.Context(), session.ConnID(hello.ConnID), func(line []byte) error {
				lines = append(lines, string(line))
				return nil
			})
		}()
		synctest.Wait()
		other.Send(&protocol.Ping{})
		bob.Send(&protocol.Ping{})
		Expect[*protocol.Pong](bob)
		bob.Write([]byte{0x02, 0x7F, 0xAB})
		Expect[*protocol.Error](bob)
		bob.Close()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := []string{"tracing 1.0.1, active, user \"bob\", device \"phone\"", "< ping", "> pong", "< unknown ab", "> error"}
		if len(lines) != len(want) {
			t.Fatalf("got %q, want %q", lines, want)
		}
		for i := range want {
			if !strings.HasPrefix(lines[i], want[i]) {
				t.Errorf("line %d is %q, want %q", i, lines[i], want[i])
			}
		}
		if err := n.Core.Trace(t.Context(), session.ConnID(hello.ConnID), nil); err == nil {
			t.Error("a connection that is gone can be traced")
		}
	})
}

func TestDevicesShowsCursorsAndSessions(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		phone, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		n.Login(1, Login{User: "bob", Device: "desktop", Platform: protocol.Desktop})
		phone.Ack(0)
		for i := range 3 {
			alice.Message("bob", fmt.Sprint(i), "x")
		}
		phone.Ack(2)
		Idle(time.Second)
		phone.Close()
		synctest.Wait()
		views, err := n.Core.Devices(t.Context(), "bob")
		if err != nil || len(views) != 2 {
			t.Fatalf("got %+v, %v", views, err)
		}
		if p := views[0]; p.Device != "phone" || *p.Cursor != 2 || p.Lag != 1 || p.LastSeen == nil || p.Session != nil {
			t.Errorf("the phone is shown as %+v", p)
		}
		if d := views[1]; d.Device != "desktop" || d.Cursor != nil || d.Platform != "desktop" || d.Session == nil ||
			d.Session.Sent != 3 || d.Session.Acked != 0 || d.Session.State != "active" {
			t.Errorf("the desktop is shown as %+v, %+v", d, d.Session)
		}
	})
}
