package servertest

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// wantLine compares a line of the metrics page, to a millionth.
func wantLine(t *testing.T, n *Node, when, name string, want float64) {
	t.Helper()
	if got := n.Line(name); math.Abs(got-want) > 1e-6 {
		t.Errorf("%s: %s is %v, want %v", when, name, got, want)
	}
}

// TestTheLatencyOfAMessageIsMeasured in its three parts, of which two wait for a loop. Each sample comes once: a message
// goes to two devices that are up to date, of the peer and of the sender.
func TestTheLatencyOfAMessageIsMeasured(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		Idle(time.Second) // a Send at the very start of the node's clock is not measured
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(1, Login{User: "bob", Device: "phone"})
		const sum, count = "lifeline_latency_seconds_sum{segment=%q}", "lifeline_latency_seconds_count{segment=%q}"
		check := func(when, segment string, samples int, seconds float64) {
			t.Helper()
			wantLine(t, n, when, fmt.Sprintf(count, segment), float64(samples))
			wantLine(t, n, when, fmt.Sprintf(sum, segment), seconds)
		}
		for i := range 3 {
			alice.Message("bob", fmt.Sprint(i), "at once")
			bob.Push()
		}
		synctest.Wait()
		check("at once", "received_to_durable", 3, 0)
		check("at once", "durable_to_written", 6, 0)
		check("at once", "durable_to_answered", 3, 0)

		resume := n.Pause(1)
		alice.Message("bob", "3", "bob's loop is busy")
		Idle(2 * time.Second)
		resume()
		bob.Push()
		check("bob's loop was busy", "durable_to_written", 8, 2)
		check("bob's loop was busy", "durable_to_answered", 4, 0)

		first := n.Pause(0)
		alice.Arrive(&protocol.Send{ID: 9, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte("4")})
		resume = n.Pause(0) // behind the Send, before its answer
		first()
		Idle(3 * time.Second)
		resume()
		synctest.Wait()
		check("alice's loop was busy", "received_to_durable", 5, 0)
		check("alice's loop was busy", "durable_to_written", 10, 2+3)
		check("alice's loop was busy", "durable_to_answered", 5, 3)
	})
}

// TestWhatADeviceOwesIsMeasured: how far it is behind, for how long, and that it was found to acknowledge nothing.
func TestWhatADeviceOwesIsMeasured(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		type owed struct{ samples, positions, seconds float64 }
		during := func(d time.Duration) owed {
			read := func() owed {
				samples := n.Line("lifeline_cursor_lag_positions_count")
				if ages := n.Line("lifeline_unacked_age_seconds_count"); ages != samples {
					t.Errorf("%v samples of the lag, %v of the age", samples, ages)
				}
				return owed{samples, n.Line("lifeline_cursor_lag_positions_sum"), n.Line("lifeline_unacked_age_seconds_sum")}
			}
			before := read()
			Idle(d)
			after := read()
			return owed{after.samples - before.samples, after.positions - before.positions, after.seconds - before.seconds}
		}
		if got := during(5 * time.Second); got.samples == 0 || got.positions != 0 || got.seconds != 0 {
			t.Errorf("a device that owes nothing: %+v", got)
		}
		for i := range 3 {
			bob.Message("bob", fmt.Sprint(i), "to myself")
		}
		got := during(8 * time.Second)
		if age := got.seconds / got.samples; got.positions != 3*got.samples || age < 3.5 || age > 4.5 {
			t.Errorf("three positions, for 8 s: %+v", got)
		}
		wantLine(t, n, "before it lags", "lifeline_lagging_total", 0)
		Idle(5 * time.Second)
		wantLine(t, n, "it lags", "lifeline_lagging_total", 1)
		bob.Ack(3)
		if got := during(5 * time.Second); got.samples == 0 || got.positions != 0 || got.seconds != 0 {
			t.Errorf("a device that has acknowledged all: %+v", got)
		}
	})
}

// TestDuplicatesAreBelievedWithinBounds: what clients report is added up, but no single one can spoil the sum.
func TestDuplicatesAreBelievedWithinBounds(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		const name = "lifeline_client_duplicates_total"
		for _, tt := range []struct {
			reported uint64
			want     int
		}{{0, 0}, {3, 3}, {1 << 20, 3 + 1<<20}, {1<<20 + 1, 3 + 2<<20}, {math.MaxUint64, 3 + 3<<20}} {
			bob, _ := n.Login(0, Login{User: "bob", Device: "phone", Duplicates: tt.reported})
			bob.Send(&protocol.Bye{})
			bob.ExpectClose(protocol.CodeBye)
			if got := n.Counter(name); got != tt.want {
				t.Errorf("after a report of %d: %d, want %d", tt.reported, got, tt.want)
			}
		}
	})
}
