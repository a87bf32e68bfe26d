package servertest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
)

// TestOutboundMemoryHasABudget: devices that read nothing share what the node may keep for them. When it is spent nothing is
// added for whom something waits, nobody else is held up, and who was held back goes on once there is room.
func TestOutboundMemoryHasABudget(t *testing.T) {
	const (
		budget   = 200 << 10
		payload  = 30 << 10
		frame    = payload + 1<<10
		devices  = 8
		messages = 4
	)
	script(t, func(t *testing.T) {
		n := Start(t, 2, func(o *server.CoreOptions) { o.MaxOutboundBytes = budget })
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		sent := uint64(0)
		send := func(to, what string) {
			t.Helper()
			if ack := alice.Message(to, fmt.Sprint(sent), what); ack.Status.Failed() {
				t.Fatalf("to %s: %s", to, ack.AppendText(nil))
			}
			synctest.Wait()
			sent++
			alice.Ack(sent)
		}
		var stalled []*Client
		for i := range devices {
			user := fmt.Sprint("user-", i)
			c, _ := n.Login(i%2, Login{User: user, Device: "phone"})
			c.Ack(0)
			c.Stall()
			stalled = append(stalled, c)
			for k := range messages {
				send(user, strings.Repeat(fmt.Sprint(k), payload))
			}
		}
		waiting := func() (sum int) {
			for _, c := range stalled {
				sum += c.Waiting()
			}
			return sum
		}
		held := waiting()
		if held <= budget || held > budget+devices*frame {
			t.Errorf("%d bytes wait, want the budget of %d and at most a message more for each device", held, budget)
		}
		if got := n.Gauge("lifeline_outbound_bytes"); got != float64(held) {
			t.Errorf("the gauge says %v, and %d bytes wait", got, held)
		}

		reads, _ := n.Login(1, Login{User: "reads", Device: "phone"})
		reads.Ack(0)
		for k := range messages {
			send("reads", fmt.Sprint(k))
			receive(t, reads, uint64(k), 1, true)
		}

		Idle(2 * time.Second)
		if got := waiting(); got != held {
			t.Errorf("%d bytes wait, and %d did before", got, held)
		}
		last := stalled[devices-1]
		before := last.Waiting()
		for _, c := range stalled[:devices-1] {
			c.Resume()
		}
		Idle(2 * time.Second)
		if last.Waiting() <= before {
			t.Errorf("the last device has %d bytes waiting, as before: it was not taken up again", last.Waiting())
		}
		last.Resume()
		for i, c := range stalled {
			got, _ := receive(t, c, 0, messages, true)
			for k, p := range got {
				if p != strings.Repeat(fmt.Sprint(k), payload) {
					t.Errorf("device %d: message %d begins with %q", i, k, p[:1])
				}
			}
		}
		Idle(2 * time.Second)
		if got := n.Gauge("lifeline_outbound_bytes"); got != 0 {
			t.Errorf("all have read, and %v bytes wait", got)
		}
		if got := n.Counter(`lifeline_closes_total{reason="slow_consumer"}`); got != 0 {
			t.Errorf("%d were closed", got)
		}
	})
}

// TestAtTheOutboundBudgetNobodyIsServedWhoDoesNotRead, and everybody else is.
func TestAtTheOutboundBudgetNobodyIsServedWhoDoesNotRead(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1, func(o *server.CoreOptions) { o.MaxOutboundBytes = 1 })
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		alice.Stall()
		bob.Message("alice", "1", "waits")
		alice.Send(reauth(1, "alice"))
		bob.Send(reauth(1, "bob"))
		bob.Push()
		Expect[*protocol.Result](bob)
		alice.Resume()
		alice.Push()
		alice.wantBusy(1, protocol.TypeReauth)
		alice.Send(reauth(2, "alice"))
		Expect[*protocol.Result](alice)
	})
}
