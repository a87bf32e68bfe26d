package servertest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/store"
)

// TestARepeatedSendGetsTheFirstAnswer [P-6.16]: on the same connection and on another one, for this conversation and device.
// Another payload under the same id is refused for good, and holds nobody up [P-6.18].
func TestARepeatedSendGetsTheFirstAnswer(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone", Attempt: 1})
		first := alice.Message("bob", "c", "hello")
		Idle(time.Minute)
		repeated := func() {
			t.Helper()
			again := alice.Message("bob", "c", "hello")
			if again.Seq != first.Seq || again.TimeMs != first.TimeMs || string(again.MessageID) != string(first.MessageID) {
				t.Errorf("a repeated Send got %s, the first %s", again.AppendText(nil), first.AppendText(nil))
			}
		}
		repeated()
		if other := alice.Message("bob", "c", "other"); other.Status.Code != protocol.CodeConflict || other.Status.Retry != protocol.RetryFixRequest {
			t.Errorf("another payload got %s", other.AppendText(nil))
		}
		if next := alice.Message("bob", "d", "next"); next.Seq != 2 {
			t.Errorf("the Send behind it got %s", next.AppendText(nil))
		}
		alice, _ = n.Login(1, Login{User: "alice", Device: "phone", Attempt: 2})
		repeated()
		if carol := alice.Message("carol", "c", "hello"); carol.Seq != 1 {
			t.Errorf("in another conversation it got %s", carol.AppendText(nil))
		}
		tablet, _ := n.Login(0, Login{User: "alice", Device: "tablet"})
		if own := tablet.Message("bob", "c", "from the tablet"); own.Seq != 3 {
			t.Errorf("from another device it got %s", own.AppendText(nil))
		}
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone", HasPos: true, Epoch: n.Mem.Epoch()})
		if got, _ := receive(t, bob, 0, 3, true); !slices.Equal(got, []string{"hello", "next", "from the tablet"}) {
			t.Errorf("bob got %q", got)
		}
	})
}

// TestALaterDeliveryIsWhole [P-6.14]: the connection that sent a message has its payload; the next one may not. Payloads
// [P-3.10] and client ids [P-3.8] are bytes like any others.
func TestALaterDeliveryIsWhole(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		const id, payload = "\xff\x1f\x00", "\x00\xff\xfe no text \x80"
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone", Attempt: 1})
		alice.Message("bob", id, payload)
		for user, clientID := range map[string]string{"alice": id, "bob": ""} {
			again, _ := n.Login(0, Login{User: user, Device: "phone", Attempt: 2, HasPos: true, Epoch: n.Mem.Epoch()})
			if m := again.Push()[0].Message; !m.HasPayload || string(m.Payload) != payload || string(m.ClientID) != clientID {
				t.Errorf("%s got %+v", user, m)
			}
		}
	})
}

// TestNoNotifyIsHandedOn [P-6.19] to the store, whose events say it to whoever wakes devices.
func TestNoNotifyIsHandedOn(t *testing.T) {
	script(t, func(t *testing.T) {
		var faults Faults
		n := Start(t, 1, WithFaults(&faults, 1))
		var mu sync.Mutex
		quiet := map[string]bool{}
		faults.Refuse(func(c store.Command) store.Refusal {
			mu.Lock()
			defer mu.Unlock()
			send := c.(*store.Send)
			quiet[string(send.ClientID)] = send.NoNotify
			return store.None
		})
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		for _, id := range []string{"loud", "quiet"} {
			alice.Send(&protocol.Send{ID: 1, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte(id), NoNotify: id == "quiet"})
			if a := alice.Sendack(); a.Status.Failed() {
				t.Errorf("%s got %s", id, a.AppendText(nil))
			}
		}
		if quiet["loud"] || !quiet["quiet"] {
			t.Errorf("handed on: %v", quiet)
		}
	})
}

// TestAnOldAckChangesNothing [P-6.9]: neither what is stored nor what may be pushed.
func TestAnOldAckChangesNothing(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		for i := range 10 {
			alice.Message("bob", fmt.Sprint(i), "x")
		}
		receive(t, bob, 0, 10, false)
		for _, pos := range []uint64{10, 3, 10, 0} {
			bob.Ack(pos)
		}
		Idle(time.Second)
		if s, err := n.Mem.Start("bob", "phone"); err != nil || s.Cursor != 10 {
			t.Errorf("the cursor is %+v, %v", s, err)
		}
		for i := range 64 {
			alice.Message("bob", fmt.Sprint(10+i), "x")
		}
		if got, last := receive(t, bob, 10, 64, false); len(got) != 64 || last != 74 {
			t.Errorf("%d entries of a whole window came, up to %d", len(got), last)
		}
	})
}
