package servertest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
)

// device is the model's side of one device: it takes what comes, checks that positions have no hole, and acknowledges
// as the dice say.
type device struct {
	user, name string
	client     *Client
	instance   uint64 // its process
	attempt    uint64
	persisted  uint64 // last position taken
	known      bool   // persisted is worth telling
	lazy       bool   // acknowledges only when told
	stalled    bool   // its socket takes nothing
	resyncs    int
}

// take reads what has come. It reports a hole as an error.
func (d *device) take(t *testing.T, ack bool) {
	for _, f := range d.client.Pending() {
		switch f := f.(type) {
		case *protocol.Push:
			for _, e := range f.Entries {
				if e.Pos != d.persisted+1 {
					t.Fatalf("%s/%s got position %d after %d", d.user, d.name, e.Pos, d.persisted)
				}
				d.persisted = e.Pos
				if e.Kind == protocol.EntryVoid {
					d.persisted = e.Void.To
				}
			}
		case *protocol.Close:
			d.client = nil
			if f.Status.Code == protocol.CodeResync {
				d.resyncs++
			}
			return
		}
	}
	if d.client.Ended() {
		d.client = nil // without a word, as ends a socket that takes nothing
		return
	}
	if ack && !d.lazy {
		d.client.Ack(d.persisted)
		d.known = true
	}
}

func (d *device) login(t *testing.T, n *Node, loop int) {
	d.attempt++
	l := Login{User: d.user, Device: d.name, Instance: d.instance, Attempt: d.attempt, HasPos: d.known, Pos: d.persisted, Epoch: n.Mem.Epoch(), Activity: protocol.Background}
	client, hello := n.Login(loop, l)
	d.client = client
	d.persisted = hello.Start
	d.lazy, d.stalled = false, false
	d.take(t, true)
}

// takeOver logs in while the session before may live: as the same process, or as another one. The loser is told which.
func (d *device) takeOver(t *testing.T, n *Node, loop int, another bool) (displaced bool) {
	synctest.Wait()
	loser, told := d.client, protocol.CodeSuperseded
	if d.stalled || loser != nil && loser.Ended() {
		loser = nil // has ended before, or will not read why
	}
	if another {
		d.instance++
		told = protocol.CodeDisplaced
	}
	d.login(t, n, loop)
	if loser == nil {
		return false
	}
	synctest.Wait()
	frames := loser.Pending()
	if len(frames) == 0 {
		t.Fatalf("%s/%s was taken over and not told", d.user, d.name)
	}
	last, ok := frames[len(frames)-1].(*protocol.Close)
	if !ok || last.Status.Code != told {
		t.Fatalf("%s/%s was taken over and told %s, want %v", d.user, d.name, frames[len(frames)-1].AppendText(nil), told)
	}
	return another
}

// read has the socket take some of what waits for it, or all of it when it is told to go on.
func (d *device) read(n int, goOn bool) {
	if goOn && d.stalled {
		d.client.Resume()
		d.stalled = false
	} else if d.stalled {
		d.client.Read(n)
	}
}

// TestPumpModel drives sessions through random loss of items, late and failed reads, full lanes, acks that come late or
// not at all, sockets that take little or nothing for a while, trims, reconnects while the old session lives, takeovers by
// another process, and closes. When the faults end, every device that is left must be brought to its inbox's head by the
// server's own doing (heartbeats go on), with no hole on the way [P-6.5].
func TestPumpModel(t *testing.T) {
	displaced := 0
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			script(t, func(t *testing.T) { displaced += pumpModel(t, seed) })
		})
	}
	if displaced == 0 && !t.Failed() {
		t.Error("no process took over from another")
	}
}

const modelLoops = 3

func pumpModel(t *testing.T, seed uint64) (displaced int) {
	var faults Faults
	n := Start(t, modelLoops, WithFaults(&faults, seed), func(o *server.CoreOptions) {
		o.Lane = 8
		o.ReadQueue = 16
		o.PushWindow = 16
	})
	rng := rand.New(rand.NewPCG(seed, 2))
	faults.Set(Rates{LoseItem: 0.2, FailRead: 0.2, MaxDelay: 2 * time.Second})
	users := []string{"ann", "ben", "cid"}
	var devices []*device
	for _, u := range users {
		for _, name := range []string{"phone", "desktop", "web"} {
			d := &device{user: u, name: name, instance: 1}
			d.login(t, n, rng.IntN(modelLoops))
			devices = append(devices, d)
		}
	}
	writer, _ := n.Login(0, Login{User: "writer", Device: "w"})
	sent, long := 0, strings.Repeat("long ", 3000)
	write := func(count int) {
		for range count {
			payload := "text"
			if rng.IntN(8) == 0 {
				payload = long
			}
			writer.Post(users[rng.IntN(len(users))], fmt.Sprint(sent), payload)
			sent++
		}
		synctest.Wait()
		for _, f := range writer.Pending() {
			if p, ok := f.(*protocol.Push); ok {
				writer.Ack(p.Entries[len(p.Entries)-1].Pos)
			}
		}
	}
	for range 400 {
		d := devices[rng.IntN(len(devices))]
		switch roll := rng.IntN(100); {
		case roll < 35:
			write(1 + rng.IntN(30))
		case roll < 68 && d.client != nil:
			d.read(rng.IntN(20<<10), rng.IntN(2) > 0)
			d.take(t, rng.IntN(4) > 0)
		case roll < 70 && d.client != nil:
			d.client.Stall()
			d.stalled = true
		case roll < 76 && d.client != nil:
			d.lazy = true
		case roll < 82:
			Idle(time.Duration(rng.IntN(3000)) * time.Millisecond)
		case roll < 86:
			resume := n.Pause(rng.IntN(modelLoops))
			posted := make(chan struct{})
			go func() {
				defer close(posted)
				for i := range 20 {
					writer.Post(users[i%len(users)], fmt.Sprint(sent, "-paused-", i), "text")
				}
			}()
			Idle(50 * time.Millisecond)
			resume()
			<-posted
			sent++
			synctest.Wait()
		case roll < 92:
			if d.takeOver(t, n, rng.IntN(modelLoops), rng.IntN(3) == 0) {
				displaced++
			}
		case roll < 95 && d.client != nil:
			d.client.Close()
			d.client = nil
		case roll < 97 && d.client != nil:
			d.client.Break()
			d.client = nil
		default:
			start, err := n.Mem.Start(d.user, d.name)
			if err != nil {
				t.Fatal(err)
			}
			if start.Head > 40 {
				n.Mem.Trim(d.user, start.Head-40)
			}
		}
	}

	faults.Set(Rates{})
	Idle(5 * time.Second)
	settle(t, n, devices, writer)
	atRest(t, n, devices, "after the storm")

	faults.Set(Rates{LoseItem: 1}) // every hint is lost: only head checks can tell
	write(40)
	faults.Set(Rates{})
	settle(t, n, devices, writer)
	atRest(t, n, devices, "after lost hints")

	faults.Set(Rates{LoseItem: 0.5, FailRead: 1}) // whoever must read cannot: the sweep has to try again by itself
	write(40)
	Idle(5 * time.Second)
	faults.Set(Rates{})
	for range 20 {
		Idle(2 * time.Second)
		for _, d := range devices {
			d.take(t, true)
		}
	}
	settle(t, n, devices, writer)
	atRest(t, n, devices, "after failed reads")
	if got := n.Core.Sessions(); got != len(devices)+1 {
		t.Errorf("%d sessions at rest, want %d", got, len(devices)+1)
	}
	for _, queue := range []string{"auth", "reads", "answers", "deliveries", "overflow"} {
		if depth := n.Gauge(fmt.Sprintf("lifeline_queue_depth{queue=%q}", queue)); depth != 0 {
			t.Errorf("%v wait in %s at rest", depth, queue)
		}
	}
	if got := n.Counter("lifeline_panics_total"); got != 0 {
		t.Errorf("%d panics", got)
	}
	return displaced
}

// atRest checks that every device has all of its user's inbox, and the store knows it.
func atRest(t *testing.T, n *Node, devices []*device, when string) {
	t.Helper()
	for _, d := range devices {
		start, err := n.Mem.Start(d.user, d.name)
		if err != nil {
			t.Fatal(err)
		}
		if d.persisted != start.Head || start.Cursor != start.Head {
			t.Errorf("%s %s/%s rests at %d, its cursor at %d, the head is %d (%d resyncs)", when, d.user, d.name, d.persisted,
				start.Cursor, start.Head, d.resyncs)
		}
	}
}

// settle lets the heartbeats go on for a while; whoever is not connected comes back, as clients do.
func settle(t *testing.T, n *Node, devices []*device, writer *Client) {
	t.Helper()
	for range 6 {
		for _, d := range devices {
			if d.client != nil {
				d.read(0, true)
				d.client.Send(&protocol.Ping{})
				synctest.Wait()
				d.take(t, true)
			}
			if d.client == nil {
				d.login(t, n, 0)
			}
		}
		writer.Send(&protocol.Ping{})
		for range 20 {
			Idle(2 * time.Second)
			for _, d := range devices {
				if d.client != nil {
					d.lazy = false
					d.take(t, true)
				}
			}
		}
		Idle(10 * time.Second)
	}
	Idle(time.Second)
}
