package servertest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/store"
)

// outbox is the model's side of a sender: it repeats from its oldest entry whenever one was refused for now.
type outbox struct {
	client *Client
	loop   int
	total  int
	oldest int          // entries below are stored
	next   int          // entry to be sent next
	stored map[int]bool // at or above oldest
	flight map[uint64]int
	again  bool // something was refused: begin anew when every answer is there
}

func (o *outbox) login(n *Node, attempt uint64) {
	o.client, _ = n.Login(o.loop, Login{User: "alice", Device: "phone", Attempt: attempt})
	o.next, o.again, o.flight = o.oldest, false, map[uint64]int{}
}

// post sends up to count entries in one burst.
func (o *outbox) post(count int) {
	if o.again && len(o.flight) == 0 {
		o.next, o.again = o.oldest, false
	}
	var burst []byte
	for ; count > 0 && !o.again && o.next < o.total; count-- {
		o.client.requests++
		o.flight[o.client.requests] = o.next
		text := fmt.Sprint(o.next)
		burst = (&protocol.Send{ID: o.client.requests, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte(text), Payload: []byte(text)}).Append(burst)
		o.next++
	}
	o.client.Write(burst)
}

// take reads what has come.
func (o *outbox) take(t *testing.T) {
	for _, f := range o.client.Pending() {
		ack, ok := f.(*protocol.Sendack)
		if !ok {
			continue
		}
		entry := o.flight[ack.ID]
		delete(o.flight, ack.ID)
		switch {
		case !ack.Status.Failed():
			o.stored[entry] = true
		case ack.Status.Retry == protocol.RetryAfter:
			o.again = true
		default:
			t.Fatalf("entry %d got %s", entry, ack.AppendText(nil))
		}
	}
	for ; o.stored[o.oldest]; o.oldest++ {
		delete(o.stored, o.oldest)
	}
}

// TestOutboxModel: whatever is refused for now, however the connection ends, an outbox that repeats from its oldest entry
// is stored whole and in order [P-6.18], each entry once [P-6.16].
func TestOutboxModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			script(t, func(t *testing.T) { outboxModel(t, seed) })
		})
	}
}

func outboxModel(t *testing.T, seed uint64) {
	var faults Faults
	n := Start(t, 2, WithFaults(&faults, seed))
	rng := rand.New(rand.NewPCG(seed, 3))
	bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
	var mu sync.Mutex
	refusals := rand.New(rand.NewPCG(seed, 4))
	faults.Refuse(func(store.Command) store.Refusal {
		mu.Lock()
		defer mu.Unlock()
		return [...]store.Refusal{store.Busy, store.StorageFull, store.None}[min(refusals.IntN(20), 2)]
	})
	o := &outbox{total: 600, stored: map[int]bool{}}
	o.login(n, 1)
	attempt := uint64(1)
	var got []string
	at := uint64(0)
	for step := 0; len(got) < o.total; step++ {
		if step == 5000 {
			t.Fatalf("after %d steps %d of %d have arrived, %d are stored", step, len(got), o.total, o.oldest)
		}
		switch roll := rng.IntN(100); {
		case roll < 50:
			o.post(1 + rng.IntN(90)) // more than may be unanswered
		case roll < 90:
			synctest.Wait()
			o.take(t)
		case roll < 95:
			Idle(time.Duration(rng.IntN(500)) * time.Millisecond)
		default: // some answers are lost; the old connection may still be there
			if rng.IntN(2) == 0 {
				o.client.Break()
			}
			attempt, o.loop = attempt+1, rng.IntN(2)
			o.login(n, attempt)
		}
		for _, f := range bob.Pending() {
			if p, ok := f.(*protocol.Push); ok {
				for _, e := range p.Entries {
					got, at = append(got, string(e.Message.Payload)), e.Pos
				}
				bob.Ack(at)
			}
		}
	}
	for i := range got {
		if got[i] != fmt.Sprint(i) {
			t.Fatalf("message %d to arrive is %s", i, got[i])
		}
	}
}
