package servertest

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// TestDoubtsAreCountedUntilTheyEnd, in whatever way: the gauges never keep a session that is gone or well again.
func TestDoubtsAreCountedUntilTheyEnd(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		expect := func(when string, probing, suspect, lagging float64) {
			t.Helper()
			synctest.Wait()
			for state, want := range map[string]float64{"probing": probing, "suspect": suspect, "lagging": lagging} {
				if got := n.Gauge(fmt.Sprintf(`lifeline_sessions_in_doubt{state=%q}`, state)); got != want {
					t.Errorf("%s: %v are %s, want %v", when, got, state, want)
				}
			}
		}
		var silent []*Client
		for i := range 5 {
			c, _ := n.Login(i%2, Login{User: fmt.Sprint("silent-", i), Device: "phone"})
			silent = append(silent, c)
		}
		expect("at first", 0, 0, 0)
		Idle(78 * time.Second)
		expect("past the limit", 5, 0, 0)
		silent[0].Send(&protocol.ProbeAck{})
		silent[1].Close()
		expect("one answers, one is gone", 3, 0, 0)
		Idle(20 * time.Second)
		expect("after the Probes", 0, 3, 0)
		silent[2].Send(&protocol.ProbeAck{})
		silent[3].Send(&protocol.Bye{})
		expect("one answers, one says goodbye", 0, 1, 0)
		Idle(30 * time.Second)
		expect("after the hold", 0, 0, 0)

		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		var hung []*Client
		for i := range 3 {
			c, _ := n.Login(i%2, Login{User: fmt.Sprint("hung-", i), Device: "phone"})
			alice.Message(fmt.Sprint("hung-", i), "1", "x")
			hung = append(hung, c)
		}
		alice.Send(&protocol.Bye{}) // or she would be one of them
		Idle(12 * time.Second)
		expect("three acknowledge nothing", 0, 0, 3)
		hung[0].Ack(1)
		hung[1].Break()
		alice, _ = n.Login(0, Login{User: "alice", Device: "phone"})
		alice.Message("hung-1", "2", "y")
		alice.Send(&protocol.Bye{})
		expect("one does, of one the line breaks", 0, 0, 1)
		for range 12 {
			Idle(time.Minute)
			if n.Core.Sessions() == 0 {
				break
			}
			hung[2].Send(&protocol.Ping{})
		}
		expect("the last one was closed", 0, 0, 0)
		if got := n.Counter(`lifeline_closes_total{reason="slow_consumer"}`); got != 1 {
			t.Errorf("%d were closed as slow", got)
		}
	})
}
