package servertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/store"
	"lifeline/store/storetest"
)

// [P-6.13]: a client without the capability gets voids.
func TestAGroupReachesEveryDeviceOfItsMembers(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		change := func(version uint64, add, remove []string) {
			t.Helper()
			a := storetest.Call(n.Mem, &store.Members{Group: "team", Version: version, Add: add, Remove: remove})
			if a.Refusal != store.None {
				t.Fatal(a.Refusal)
			}
		}
		change(1, []string{"ann", "ben", "cid"}, nil)
		ann, hello := n.Login(0, Login{User: "ann", Device: "phone"})
		if hello.Head != 1 {
			t.Fatalf("being added is an inbox entry: head %d", hello.Head)
		}
		phone, _ := n.Login(0, Login{User: "ben", Device: "phone"})
		desktop, _ := n.Login(1, Login{User: "ben", Device: "desktop", Capabilities: 1})
		cid, _ := n.Login(1, Login{User: "cid", Device: "phone"})
		post := func(id string) *protocol.Sendack {
			ann.requests++
			ann.Send(&protocol.Send{ID: ann.requests, To: protocol.ToGroup, ToID: []byte("team"), ClientID: []byte(id), Payload: []byte(id)})
			return ann.Sendack()
		}
		if ack := post("first"); ack.Seq != 1 {
			t.Fatalf("got %s", ack.AppendText(nil))
		}
		for _, c := range []*Client{phone, desktop, cid} {
			if e := c.Push()[0]; string(e.Message.Payload) != "first" || string(e.Message.Conversation) != "team" {
				t.Errorf("got %+v", e)
			}
		}
		change(2, nil, []string{"ben"})
		if e := phone.Push()[0]; e.Kind != protocol.EntryVoid || e.Pos != 3 {
			t.Errorf("a client that knows no conversation entries got %+v", e)
		}
		if e := desktop.Push()[0]; e.Kind != protocol.EntryConversation || e.Conversation.Member || e.Conversation.LastSeq != 1 {
			t.Errorf("the removal reads %+v", e)
		}
		post("second")
		if e := cid.Push()[0]; string(e.Message.Payload) != "second" {
			t.Errorf("got %+v", e)
		}
		phone.Send(&protocol.Ping{})
		if f := phone.Next(); f.Type() != protocol.TypePong {
			t.Errorf("a removed member got %s", f.AppendText(nil))
		}
		phone.Send(&protocol.Send{ID: 1, To: protocol.ToGroup, ToID: []byte("team"), ClientID: []byte("x"), Payload: []byte("x")})
		if ack := phone.Sendack(); ack.Status.Code != protocol.CodeNotMember {
			t.Errorf("a removed member's Send got %s", ack.AppendText(nil))
		}
	})
}

// [P-6.42]: who catches up over several changes gets each as it was, in its place between the messages.
func TestCatchingUpTellsEveryChangeAsItWas(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		for i, c := range []store.Command{
			&store.Members{Group: "team", Version: 1, Add: []string{"ann", "ben"}},
			&store.Send{Sender: "ann", SenderDevice: "phone", ToGroup: "team", ClientID: []byte("1")},
			&store.Members{Group: "team", Version: 2, Remove: []string{"ben"}},
			&store.Send{Sender: "ann", SenderDevice: "phone", ToGroup: "team", ClientID: []byte("2")},
			&store.Members{Group: "team", Version: 3, Add: []string{"ben"}},
			&store.Send{Sender: "ann", SenderDevice: "phone", ToGroup: "team", ClientID: []byte("3")},
		} {
			if a := storetest.Call(n.Mem, c); a.Refusal != store.None {
				t.Fatalf("command %d: %v", i, a.Refusal)
			}
		}
		ben, _ := n.Login(0, Login{User: "ben", Device: "phone", Capabilities: 1, HasPos: true, Pos: 0, Epoch: n.Mem.Epoch()})
		var got []string
		for len(got) < 5 {
			for _, e := range ben.Push() {
				switch c := e.Conversation; {
				case e.Kind == protocol.EntryMessage:
					got = append(got, fmt.Sprint(e.Message.Seq))
				case e.Kind == protocol.EntryConversation && c.Member && c.LastSeq == 0:
					got = append(got, fmt.Sprint("joined from ", c.FirstSeq))
				case e.Kind == protocol.EntryConversation && !c.Member && c.FirstSeq == 0:
					got = append(got, fmt.Sprint("left at ", c.LastSeq))
				default:
					t.Fatalf("got %+v", e)
				}
			}
		}
		if want := "joined from 1, 1, left at 1, joined from 3, 3"; strings.Join(got, ", ") != want {
			t.Errorf("ben got %q, want %q", got, want)
		}
	})
}

func TestAPanicEndsOneConnection(t *testing.T) {
	script(t, func(t *testing.T) {
		var faults Faults
		n := Start(t, 1, WithFaults(&faults, 1))
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		faults.Refuse(func(store.Command) store.Refusal { panic("as the test wants it") })
		alice.Post("bob", "1", "x")
		alice.ExpectEnd()
		faults.Refuse(nil)
		if got := n.Counter("lifeline_panics_total"); got != 1 {
			t.Errorf("%d panics counted", got)
		}
		alive(t, n, bob)
	})
}

// A panic outside any connection's own work, here in the flush of cursors, must not take along what came in the same burst.
func TestAPanicInTheSweepLosesNoAnswer(t *testing.T) {
	script(t, func(t *testing.T) {
		var faults Faults
		n := Start(t, 1, WithFaults(&faults, 1))
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob.Ack(0)
		faults.OnAck(func(store.Ack) { panic("as the test wants it") })
		resume := n.Pause(0)
		go alice.Post("bob", "1", "x")
		Idle(2 * time.Second)
		resume()
		if ack := alice.Sendack(); ack.Seq != 1 {
			t.Fatalf("got %s", ack.AppendText(nil))
		}
		Idle(2 * time.Second)
		if got := n.Counter("lifeline_panics_total"); got == 0 {
			t.Error("the panic was not counted")
		}
		faults.OnAck(nil)
		bob.Push()
		bob.Ack(1)
		Idle(2 * time.Second)
		if s, _ := n.Mem.Start("bob", "phone"); s.Cursor != 1 {
			t.Errorf("the cursor is %d", s.Cursor)
		}
	})
}

func TestStoppingTellsEveryClient(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		var all []*Client
		for i, user := range []string{"ann", "ben", "cid"} {
			c, _ := n.Login(i%2, Login{User: user, Device: "phone"})
			all = append(all, c)
		}
		all = append(all, n.Dial(0)) // not logged in
		n.Core.CloseSessions()
		for _, c := range all {
			c.ExpectClose(protocol.CodeDraining)
			c.Close()
		}
		late := n.Dial(1) // a client that was told to come back, or a new one
		late.Send(Login{User: "ann", Device: "phone", Attempt: 2}.Frame())
		late.ExpectClose(protocol.CodeDraining)
		nothingLeft(t, n)
	})
}
