package servertest

import (
	"strings"
	"testing"
	"testing/synctest"

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
		want := []string{"< ping", "> pong", "< unknown ab", "> error"}
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
