package servertest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/store"
	"lifeline/store/memstore"
	"lifeline/store/storetest"
)

// [P-6.18]
func TestARefusedSendKeepsTheOrder(t *testing.T) {
	script(t, func(t *testing.T) {
		var faults Faults
		n := Start(t, 1, WithFaults(&faults, 1))
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		code := func(clientID string, skip bool) protocol.Code {
			alice.requests++
			alice.Send(&protocol.Send{ID: alice.requests, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte(clientID),
				Payload: []byte(clientID), SkipOrder: skip})
			return alice.Sendack().Status.Code
		}
		step := func(clientID string, want protocol.Code) {
			t.Helper()
			if got := code(clientID, false); got != want {
				t.Fatalf("send %s: got %v, want %v", clientID, got, want)
			}
		}
		step("1", 0)
		faults.Refuse(func(c store.Command) store.Refusal { return store.Busy })
		step("2", protocol.CodeBusy)
		faults.Refuse(nil)
		step("3", protocol.CodeOutOfOrder)
		step("4", protocol.CodeOutOfOrder)
		step("2", 0)
		step("3", 0)
		step("4", 0)
		faults.Refuse(func(c store.Command) store.Refusal { return store.StorageFull })
		step("5", protocol.CodeStorageFull)
		faults.Refuse(nil)
		step("6", protocol.CodeOutOfOrder)
		if got := code("7", true); got != 0 {
			t.Fatalf("skip_order got %v", got)
		}
		step("8", 0) // the refused one was given up

		faults.Refuse(func(c store.Command) store.Refusal { return store.Busy })
		step("9", protocol.CodeBusy)
		faults.Refuse(nil)
		alice.Close()
		alice, _ = n.Login(0, Login{User: "alice", Device: "phone", Attempt: 1, HasPos: true, Pos: 6, Epoch: n.Mem.Epoch()})
		step("10", 0) // a new connection begins anew

		got, _ := receive(t, bob, 0, 7, true)
		if want := "1 2 3 4 7 8 10"; strings.Join(got, " ") != want {
			t.Fatalf("bob got %v, want %s", got, want)
		}
	})
}

// The Sends behind one that the store found overdue may have been stored: only a new connection keeps their order.
func TestAnOverdueSendEndsTheConnection(t *testing.T) {
	script(t, func(t *testing.T) {
		var overdue atomic.Bool
		var mem *memstore.Store
		n := Start(t, 1, func(o *server.CoreOptions) {
			o.Open = func(sink store.Sink) (store.Store, error) {
				mem = memstore.New(memstore.Options{Sink: sink, Overdue: func(string) bool { return overdue.Load() }})
				return mem, nil
			}
		})
		storetest.Call(mem, &store.Members{Group: "team", Version: 1, Add: []string{"alice"}})
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		post := func(id uint64) {
			alice.Send(&protocol.Send{ID: id, To: protocol.ToGroup, ToID: []byte("team"), ClientID: fmt.Append(nil, id)})
		}
		post(1)
		if ack := alice.Sendack(); ack.Seq != 1 {
			t.Fatalf("got %s", ack.AppendText(nil))
		}
		overdue.Store(true)
		post(2)
		alice.ExpectClose(protocol.CodeBusy)
		overdue.Store(false)
		alice, _ = n.Login(0, Login{User: "alice", Device: "phone", Attempt: 1})
		post(2)
		if ack := alice.Sendack(); ack.Seq != 2 {
			t.Errorf("once more: got %s", ack.AppendText(nil))
		}
	})
}

// [P-4.4]
func TestMoreUnansweredSendsThanAllowed(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		var burst []byte
		const total = 100
		for i := range total {
			f := protocol.Send{ID: uint64(i + 1), To: protocol.ToUser, ToID: []byte("bob"), ClientID: fmt.Appendf(nil, "c%d", i), Payload: []byte("x")}
			burst = f.Append(burst)
		}
		alice.Write(burst)
		counts := map[protocol.Code]int{}
		for range total {
			counts[alice.Sendack().Status.Code]++
		}
		if counts[0] != 64 || counts[protocol.CodeBusy] != 1 || counts[protocol.CodeOutOfOrder] != 35 {
			t.Fatalf("got %v, want 64 stored, the next BUSY, the rest OUT_OF_ORDER", counts)
		}
	})
}

// TestADeviceThatNeverAcksHarmsNobody: its window bounds what it is pushed, and what the node keeps for it when it does not
// read either, however many messages come. The user's other devices get them all.
// [P-6.12]
func TestADeviceThatNeverAcksHarmsNobody(t *testing.T) {
	const total, window = 2000, 64
	for _, tt := range []struct {
		name    string
		payload int
		stalled bool
	}{{"it reads", 8 << 10, false}, {"it does not read", 500, true}} {
		t.Run(tt.name, func(t *testing.T) {
			script(t, func(t *testing.T) {
				n := Start(t, 2)
				alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
				alice.Ack(0)
				deaf, _ := n.Login(0, Login{User: "bob", Device: "deaf"})
				if tt.stalled {
					deaf.Stall()
				}
				var devices []*Client
				for i := range 4 {
					c, _ := n.Login(i%2, Login{User: "bob", Device: fmt.Sprintf("device-%d", i)})
					devices = append(devices, c)
				}
				payload := strings.Repeat("p", tt.payload)
				at := make([]uint64, len(devices))
				mine, held := uint64(0), 0
				for i := range total {
					alice.Message("bob", fmt.Sprint(i), payload)
					_, mine = receive(t, alice, mine, 1, true)
					for d, c := range devices {
						_, at[d] = receive(t, c, at[d], 1, true)
					}
					synctest.Wait()
					if i == window-1 {
						held = deaf.Waiting()
					}
				}
				if tt.stalled != (held >= window*tt.payload) || deaf.Waiting() != held || n.Gauge("lifeline_outbound_bytes") != float64(held) {
					t.Errorf("%d bytes waited after a window, %d wait after %d messages, and the gauge says %v", held, deaf.Waiting(),
						total, n.Gauge("lifeline_outbound_bytes"))
				}
				deaf.Resume()
				pushed := 0
				for _, f := range deaf.Pending() {
					pushed += len(f.(*protocol.Push).Entries)
				}
				if pushed != window {
					t.Errorf("the deaf device was pushed %d messages, want its window of %d", pushed, window)
				}
				if r := n.Counter(`lifeline_reads_total{outcome="empty"}`); r != 0 {
					t.Errorf("%d reads found nothing", r)
				}
			})
		})
	}
}

func TestASocketThatIsNotReadIsBoundedAndEnds(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		stuck, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		stuck.Stall()
		payload := strings.Repeat("p", 30<<10)
		most := 0
		for i := range 50 {
			alice.Message("bob", fmt.Sprint(i), payload)
			most = max(most, stuck.Waiting())
		}
		if most == 0 || most > 160<<10 {
			t.Fatalf("up to %d bytes waited for a stalled client, want some and at most 160 KiB", most)
		}
		for range 3 {
			Idle(20 * time.Second)
			stuck.Send(&protocol.Ping{})
		}
		Idle(20 * time.Second)
		synctest.Wait()
		if got := n.Counter(`lifeline_closes_total{reason="slow_consumer"}`); got != 1 {
			t.Fatalf("%d closes as slow consumer, want 1", got)
		}
	})
}

func TestAFullLaneLosesNothing(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2, func(o *server.CoreOptions) { o.Lane = 4 })
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(1, Login{User: "bob", Device: "phone"})
		resume := n.Pause(1)
		for i := range 50 {
			alice.Message("bob", fmt.Sprint(i), fmt.Sprint(i))
		}
		if got := n.Counter("lifeline_deliveries_overflowed_total"); got != 46 {
			t.Fatalf("%d deliveries overflowed, want 46", got)
		}
		resume()
		got, _ := receive(t, bob, 0, 50, true)
		check(t, got, 50)
	})
}

func TestALostHintHealsWithinAHeartbeat(t *testing.T) {
	script(t, func(t *testing.T) {
		var faults Faults
		n := Start(t, 1, WithFaults(&faults, 1))
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		faults.Set(Rates{LoseItem: 1})
		alice.Message("bob", "1", "0")
		synctest.Wait()
		if got := bob.Pending(); len(got) != 0 {
			t.Fatalf("the hint was not lost: %s", got[0].AppendText(nil))
		}
		Idle(55 * time.Second)
		bob.Send(&protocol.Ping{})
		Expect[*protocol.Pong](bob)
		Idle(10 * time.Second)
		bob.Send(&protocol.Ping{})
		Expect[*protocol.Pong](bob)
		got, _ := receive(t, bob, 0, 1, true)
		check(t, got, 1)
	})
}

// [P-6.20], [P-6.21]
func TestPull(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		for i := range 150 {
			alice.Message("bob", fmt.Sprint(i), fmt.Sprint(i))
		}
		alice.Pending()
		pull := func(conversation string, from, to uint64) protocol.Frame {
			alice.requests++
			alice.Send(&protocol.Pull{ID: alice.requests, Conversation: []byte(conversation), FromSeq: from, ToSeq: to})
			for {
				if f := alice.Next(); f.Type() != protocol.TypePush {
					return f
				}
			}
		}
		direct := store.Direct("alice", "bob")
		page, ok := pull(direct, 51, 150).(*protocol.Pulled)
		if !ok || len(page.Messages) != 100 || page.Messages[0].Seq != 51 || page.Head != 150 || page.More {
			t.Fatalf("got %s", page.AppendText(nil))
		}
		for _, tt := range []struct {
			conversation string
			from, to     uint64
			want         protocol.Code
		}{
			{direct, 0, 5, protocol.CodeBadRange},
			{direct, 5, 4, protocol.CodeBadRange},
			{direct, 1, 101, protocol.CodeBadRange},
			{"", 1, 2, protocol.CodeInvalidID},
			{strings.Repeat("x", 130), 1, 2, protocol.CodeInvalidID},
			{"no-such-group", 1, 2, protocol.CodeNoSuchGroup},
			{store.Direct("carol", "dave"), 1, 2, protocol.CodeNotMember},
		} {
			got, ok := pull(tt.conversation, tt.from, tt.to).(*protocol.Error)
			if !ok || got.Status.Code != tt.want {
				t.Errorf("pull %q %d..%d: got %s, want %v", tt.conversation, tt.from, tt.to, got.AppendText(nil), tt.want)
			}
		}
	})
}

// [P-4.1], [P-6.20]
func TestOnePullAtATime(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		alice.Message("bob", "1", "x")
		alice.Ack(1)
		alice.Pending()
		pull := func(id uint64) *protocol.Pull {
			return &protocol.Pull{ID: id, Conversation: []byte("alice\x1fbob"), FromSeq: 1, ToSeq: 1}
		}
		alice.Write(pull(2).Append(pull(1).Append(nil)))
		if e := Expect[*protocol.Error](alice); e.ID != 2 || e.Status.Code != protocol.CodeBusy {
			t.Fatalf("got %s", e.AppendText(nil))
		}
		if p := Expect[*protocol.Pulled](alice); p.ID != 1 {
			t.Fatalf("got %s", p.AppendText(nil))
		}
		alice.Send(pull(3))
		if p := Expect[*protocol.Pulled](alice); p.ID != 3 || len(p.Messages) != 1 {
			t.Fatalf("got %s", p.AppendText(nil))
		}
		alice.Write((&protocol.Pull{ID: 4, Conversation: []byte("no-such-group"), FromSeq: 1, ToSeq: 1}).Append(nil))
		if e := Expect[*protocol.Error](alice); e.Status.Code != protocol.CodeNoSuchGroup {
			t.Fatalf("got %s", e.AppendText(nil))
		}
		alice.Send(pull(5))
		if p := Expect[*protocol.Pulled](alice); p.ID != 5 {
			t.Fatalf("got %s", p.AppendText(nil))
		}
	})
}
