package servertest

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/server/auth"
	"lifeline/store"
)

// gate lets everybody pass but while it is shut.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // nil = not shut. Guarded by mu.
}

func (g *gate) pass() {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened != nil {
		<-opened
	}
}

func (g *gate) shut() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	opened := make(chan struct{})
	g.opened = opened
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.opened = nil
		close(opened)
	}
}

// Verify implements auth.Verifier.
func (g *gate) Verify(token []byte, now time.Time) (auth.Identity, error) {
	g.pass()
	return auth.Development{}.Verify(token, now)
}

// gatedReads is a store whose reads for sessions wait for the gate.
type gatedReads struct {
	store.Store
	gate *gate
}

// Start implements store.Store.
func (s gatedReads) Start(user, device string) (store.Start, error) {
	s.gate.pass()
	return s.Store.Start(user, device)
}

// Inbox implements store.Store.
func (s gatedReads) Inbox(r store.InboxRead) (store.InboxPage, error) {
	s.gate.pass()
	return s.Store.Inbox(r)
}

// History implements store.Store.
func (s gatedReads) History(r store.HistoryRead) (store.HistoryPage, error) {
	s.gate.pass()
	return s.Store.History(r)
}

// wantBusy wants a request refused by its id and its type, and the connection kept [P-4.3].
func (c *Client) wantBusy(id uint64, t protocol.Type) {
	c.t.Helper()
	if e := Expect[*protocol.Error](c); e.ID != id || e.Status.Code != protocol.CodeBusy || protocol.Type(e.FrameType) != t {
		c.t.Errorf("got %s, want %v %d refused as BUSY", e.AppendText(nil), t, id)
	}
}

func reauth(id uint64, user string) *protocol.Reauth {
	return &protocol.Reauth{ID: id, Token: []byte("dev:" + user)}
}

func pull(id uint64) *protocol.Pull {
	return &protocol.Pull{ID: id, Conversation: []byte("alice\x1fbob"), FromSeq: 1, ToSeq: 1}
}

// TestTokensThatFindTheQueueFull: a log-in is sent away, a Reauth is refused and may come again.
func TestTokensThatFindTheQueueFull(t *testing.T) {
	script(t, func(t *testing.T) {
		var tokens gate
		n := Start(t, 1, func(o *server.CoreOptions) { o.Verifier, o.AuthQueue = &tokens, 1 })
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		var others []*Client
		for i := range runtime.GOMAXPROCS(0) + 1 { // one for each worker, and one for the queue
			c, _ := n.Login(0, Login{User: fmt.Sprint("other-", i), Device: "phone"})
			others = append(others, c)
		}
		open := tokens.shut()
		for i, c := range others {
			c.Send(reauth(1, fmt.Sprint("other-", i)))
			synctest.Wait()
		}
		if got := n.Gauge(`lifeline_queue_depth{queue="auth"}`); got != 1 {
			t.Errorf("%v tokens wait, want 1", got)
		}
		late := n.Dial(0)
		late.Send(Login{User: "late", Device: "phone"}.Frame())
		late.ExpectClose(protocol.CodeBusy)
		for i := range uint64(10) {
			alice.Send(reauth(i+1, "alice"))
			alice.wantBusy(i+1, protocol.TypeReauth)
		}
		open()
		for _, c := range others {
			Expect[*protocol.Result](c)
		}
		alice.Send(reauth(11, "alice"))
		if r := Expect[*protocol.Result](alice); r.ID != 11 || r.Status.Failed() {
			t.Errorf("once more: %s", r.AppendText(nil))
		}
		if got := n.Counter(`lifeline_refusals_total{code="busy"}`); got != 10 {
			t.Errorf("%d refusals are counted, want 10", got)
		}
	})
}

// TestReadsThatFindTheQueueFull: a log-in is sent away, a Pull is refused and may come again, and who is behind is asked for
// again by the sweep, once a second.
func TestReadsThatFindTheQueueFull(t *testing.T) {
	script(t, func(t *testing.T) {
		var reads gate
		n := Start(t, 1, func(o *server.CoreOptions) { o.Readers, o.ReadQueue, o.PushWindow = 1, 1, 2 },
			WrapStore(func(open func(store.Sink) (store.Store, error)) func(store.Sink) (store.Store, error) {
				return func(sink store.Sink) (store.Store, error) {
					below, err := open(sink)
					return gatedReads{below, &reads}, err
				}
			}))
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		tablet, _ := n.Login(0, Login{User: "bob", Device: "tablet"})
		for i := range 3 {
			bob.Message("alice", fmt.Sprint(i), fmt.Sprint(i))
		}
		receive(t, alice, 0, 2, false)
		receive(t, tablet, 0, 2, false)
		receive(t, bob, 0, 2, false)

		open := reads.shut()
		bob.Send(pull(11))
		synctest.Wait()
		tablet.Send(pull(11))
		synctest.Wait()
		if got := n.Gauge(`lifeline_queue_depth{queue="reads"}`); got != 1 {
			t.Errorf("%v reads wait, want 1", got)
		}
		late := n.Dial(0)
		late.Send(Login{User: "late", Device: "phone"}.Frame())
		late.ExpectClose(protocol.CodeBusy)
		for i := range uint64(10) {
			alice.Send(pull(i + 1))
			alice.wantBusy(i+1, protocol.TypePull)
		}
		refused := n.Counter(`lifeline_reads_total{outcome="refused"}`)
		alice.Ack(2) // there is room in the window for the third message now
		Idle(4500 * time.Millisecond)
		if got := n.Counter(`lifeline_reads_total{outcome="refused"}`) - refused; got < 4 || got > 6 {
			t.Errorf("%d reads were refused in 4.5 seconds, want one a second", got)
		}
		open()
		Expect[*protocol.Pulled](bob)
		Expect[*protocol.Pulled](tablet)
		receive(t, alice, 2, 1, true)
		alice.Send(pull(11))
		if p := Expect[*protocol.Pulled](alice); p.ID != 11 || len(p.Messages) != 1 {
			t.Errorf("once more: %s", p.AppendText(nil))
		}
	})
}

// TestMoreUnansweredRequestsThanAllowed: four at a time, of whatever kind, as Connack says [P-4.4]. Each has its answer
// [P-4.1].
func TestMoreUnansweredRequestsThanAllowed(t *testing.T) {
	script(t, func(t *testing.T) {
		var tokens gate
		n := Start(t, 1, func(o *server.CoreOptions) { o.Verifier = &tokens })
		alice, hello := n.Login(0, Login{User: "alice", Device: "phone"})
		if l := hello.Limits; l.UnansweredRequests != 4 || l.UnansweredSends != 64 {
			t.Errorf("announced: %s", hello.AppendText(nil))
		}
		open := tokens.shut()
		for id := range uint64(4) {
			alice.Send(reauth(id+1, "alice"))
		}
		alice.Send(reauth(5, "alice"))
		alice.wantBusy(5, protocol.TypeReauth)
		alice.Send(pull(6))
		alice.wantBusy(6, protocol.TypePull)
		alice.Send(&protocol.Presence{ID: 7, Users: [][]byte{[]byte("bob")}})
		alice.wantBusy(7, protocol.TypePresence)
		open()
		answered := map[uint64]bool{}
		for range 4 {
			answered[Expect[*protocol.Result](alice).ID] = true
		}
		if len(answered) != 4 || !answered[1] || !answered[2] || !answered[3] || !answered[4] {
			t.Errorf("answered: %v", answered)
		}
		alice.Send(&protocol.Presence{ID: 8, Users: [][]byte{[]byte("bob")}})
		Expect[*protocol.PresenceList](alice)
	})
}

// TestWhoDoesNotReadIsNotServed: while more than 64 KiB wait for a client, every request that would add to them is refused.
// Once it has read, the same requests are served.
func TestWhoDoesNotReadIsNotServed(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		alice.Stall()
		for i := range 3 {
			bob.Message("alice", fmt.Sprint(i), strings.Repeat("p", 30<<10))
		}
		ask := func(id uint64) {
			for _, f := range []protocol.Frame{
				&protocol.Send{ID: id, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte("c"), Payload: []byte("p")},
				reauth(id+1, "alice"),
				pull(id + 2),
				&protocol.Presence{ID: id + 3, Users: [][]byte{[]byte("bob")}},
			} {
				alice.Send(f)
			}
			synctest.Wait()
		}
		ask(1)
		alice.Resume()
		receive(t, alice, 0, 3, true)
		if a := Expect[*protocol.Sendack](alice); a.ID != 1 || a.Status.Code != protocol.CodeBusy {
			t.Errorf("got %s", a.AppendText(nil))
		}
		alice.wantBusy(2, protocol.TypeReauth)
		alice.wantBusy(3, protocol.TypePull)
		alice.wantBusy(4, protocol.TypePresence)

		ask(5)
		served := map[protocol.Type]int{}
		for _, f := range alice.Pending() {
			served[f.Type()]++
			if a, ok := f.(*protocol.Sendack); ok && a.Status.Failed() {
				t.Errorf("once more: %s", a.AppendText(nil))
			}
		}
		for _, want := range []protocol.Type{protocol.TypeSendack, protocol.TypeResult, protocol.TypePulled, protocol.TypePresenceList} {
			if served[want] != 1 {
				t.Errorf("%d of %v came once the client had read, want 1", served[want], want)
			}
		}
	})
}
