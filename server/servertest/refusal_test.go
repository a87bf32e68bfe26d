package servertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route"
)

// post sends messages to bob in one burst and returns their codes, in order.
func (c *Client) post(clientIDs ...string) (codes []protocol.Code) {
	c.t.Helper()
	var burst []byte
	for _, id := range clientIDs {
		c.requests++
		f := protocol.Send{ID: c.requests, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte(id), Payload: []byte(id)}
		burst = f.Append(burst)
	}
	c.Write(burst)
	for range clientIDs {
		codes = append(codes, c.Sendack().Status.Code)
	}
	return codes
}

// TestNotHereKeepsTheOrder: a node that refuses every Send because another node has a store of its own must let the
// outbox drain in order when the other has gone.
func TestNotHereKeepsTheOrder(t *testing.T) {
	script(t, func(t *testing.T) {
		table := route.NewMemory(nil)
		other := table.Table(route.Self{Node: "other", Incarnation: 1, TTL: time.Hour}, nil)
		lease := route.Lease{Node: "other", Incarnation: 1, Epoch: "another store"}
		if _, err := other.Renew(t.Context(), lease, 15*time.Second); err != nil {
			t.Fatal(err)
		}
		n := Start(t, 1, Share(table, "a", 1))
		Idle(5 * time.Second)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		step := func(want string, clientIDs ...string) {
			t.Helper()
			if got := fmt.Sprint(alice.post(clientIDs...)); got != want {
				t.Fatalf("sends %v: got %v, want %v", clientIDs, got, want)
			}
		}
		step("[NOT_HERE OUT_OF_ORDER OUT_OF_ORDER]", "1", "2", "3")
		step("[NOT_HERE OUT_OF_ORDER OUT_OF_ORDER]", "1", "2", "3")
		if err := other.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		Idle(20 * time.Second)
		step("[OUT_OF_ORDER OUT_OF_ORDER]", "2", "3")
		step("[0 0 0]", "1", "2", "3")
		got, _ := receive(t, bob, 0, 3, true)
		if want := "1 2 3"; strings.Join(got, " ") != want {
			t.Fatalf("bob got %v, want %s", got, want)
		}
	})
}

// TestAFaultySendHoldsNobodyUp: a Send that can never be stored is told so at once, even where every other is refused for
// now, and what comes behind it need not wait for it.
func TestAFaultySendHoldsNobodyUp(t *testing.T) {
	script(t, func(t *testing.T) {
		table := route.NewMemory(nil)
		other := table.Table(route.Self{Node: "other", Incarnation: 1, TTL: time.Hour}, nil)
		if _, err := other.Renew(t.Context(), route.Lease{Node: "other", Incarnation: 1, Epoch: "another store"}, 15*time.Second); err != nil {
			t.Fatal(err)
		}
		n := Start(t, 1, Share(table, "a", 1))
		Idle(5 * time.Second)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		faulty := strings.Repeat("x", protocol.MaxIDBytes+1)
		if got := fmt.Sprint(alice.post(faulty)); got != "[INVALID_ID]" {
			t.Fatalf("got %v", got)
		}
		if err := other.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		Idle(20 * time.Second)
		if got := fmt.Sprint(alice.post("1")); got != "[0]" {
			t.Fatalf("got %v", got)
		}
	})
}
