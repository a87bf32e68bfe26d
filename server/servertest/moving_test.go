package servertest

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/server/route"
	"lifeline/store"
)

// The scripts of this file ask for bob while his phone comes back on another connection. He has a session all the time,
// so nobody may be told that he is offline.

// startGate holds back the store's word on where a device stands, so that its session is starting until the gate opens.
type startGate struct {
	store.Store
	open chan struct{}
	on   atomic.Bool
}

func (g *startGate) Start(user, device string) (store.Start, error) {
	if g.on.Load() {
		<-g.open
	}
	return g.Store.Start(user, device)
}

func withStartGate(g *startGate) Option {
	g.open = make(chan struct{})
	return WrapStore(func(open func(store.Sink) (store.Store, error)) func(store.Sink) (store.Store, error) {
		return func(sink store.Sink) (store.Store, error) {
			below, err := open(sink)
			g.Store = below
			return g, err
		}
	})
}

// slowTable takes its time to look up, half of it before it reads and half after.
type slowTable struct {
	route.Table
	takes atomic.Int64
}

func (s *slowTable) Lookup(ctx context.Context, users []string) (route.Lookup, error) {
	half := time.Duration(s.takes.Load()) / 2
	Idle(half)
	l, err := s.Table.Lookup(ctx, users)
	Idle(half)
	return l, err
}

func shareSlowly(s *slowTable, table *route.Memory, node string) Option {
	return func(o *server.CoreOptions) {
		Share(table, node, 1)(o)
		open := o.Routes.Table
		o.Routes.Table = func(self route.Self) (route.Table, error) {
			below, err := open(self)
			s.Table = below
			return s, err
		}
	}
}

// known has a store know of a user, for of one it knows nothing of it never says that he is offline.
func known(n *Node, user string) {
	c, _ := n.Login(0, Login{User: user, Device: "phone"})
	c.Ack(0)
	Idle(time.Second)
	c.Send(&protocol.Bye{})
	c.ExpectEnd()
	Idle(time.Second)
}

// phoneOfBob asks for its state, and does not wait.
func phoneOfBob(n *Node) <-chan route.DeviceState {
	state := make(chan route.DeviceState, 1)
	go func() {
		states, err := n.Core.DeviceStates(context.Background(), "bob", []string{"phone"})
		if err != nil {
			n.t.Error(err)
		}
		state <- states["phone"]
	}()
	return state
}

// TestAPhoneThatStartsAnewIsOnline: the session that follows takes the place of the old one before it can be used.
func TestAPhoneThatStartsAnewIsOnline(t *testing.T) {
	script(t, func(t *testing.T) {
		g, table := &startGate{}, route.NewMemory(nil)
		a := Start(t, 2, Share(table, "a", 1), withStartGate(g))
		b := Start(t, 2, Share(table, "b", 1))
		Idle(20 * time.Second)
		ann, _ := a.Login(0, Login{User: "ann", Device: "phone"})
		bea, _ := b.Login(0, Login{User: "bea", Device: "phone"})
		known(a, "bob")
		known(b, "bob")
		for loop := range 2 {
			old, _ := a.Login(1, Login{User: "bob", Device: "phone", Attempt: 1})
			Idle(time.Second)
			g.on.Store(true)
			again := a.Dial(loop)
			again.Send(Login{User: "bob", Device: "phone", Attempt: 2}.Frame())
			old.ExpectClose(protocol.CodeSuperseded)
			for range 8 {
				Idle(50 * time.Millisecond)
				for _, asker := range []*Client{ann, bea} {
					if got := asker.ask("bob")[0]; got.State != protocol.Online || len(devices(got)) != 1 {
						t.Errorf("on loop %d: %v, on %q", loop, got.State, devices(got))
					}
				}
				if got := deviceState(t, a, "bob", "phone"); got != route.DeviceActive {
					t.Errorf("on loop %d: his phone is %v", loop, got)
				}
			}
			g.on.Store(false)
			g.open <- struct{}{}
			Expect[*protocol.Connack](again)
			again.Send(&protocol.Bye{})
			again.ExpectEnd()
		}
	})
}

// TestAPhoneThatChangesItsLoopIsOnline: one loop is busy, and bob moves from one that is still to be asked to one that
// would not be.
func TestAPhoneThatChangesItsLoopIsOnline(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 4)
		ann, _ := n.Login(3, Login{User: "ann", Device: "phone"})
		n.Login(0, Login{User: "zoe", Device: "phone"})
		n.Login(0, Login{User: "bob", Device: "web"})
		known(n, "cid")
		old, _ := n.Login(2, Login{User: "bob", Device: "phone"})
		before, _ := n.Login(2, Login{User: "cid", Device: "phone"})
		Idle(time.Second)
		resume := n.Pause(0)
		states := phoneOfBob(n)
		ann.Send(&protocol.Presence{ID: 7, Users: [][]byte{[]byte("zoe"), []byte("cid")}})
		synctest.Wait()
		n.Login(1, Login{User: "bob", Device: "phone", Attempt: 1})
		n.Login(1, Login{User: "cid", Device: "phone", Attempt: 1})
		old.ExpectClose(protocol.CodeSuperseded)
		before.ExpectClose(protocol.CodeSuperseded)
		resume()
		for _, u := range Expect[*protocol.PresenceList](ann).Users {
			if u.State != protocol.Online {
				t.Errorf("%s is %v", u.User, u.State)
			}
		}
		if got := <-states; got != route.DeviceActive {
			t.Errorf("bob's phone is %v", got)
		}
	})
}

// TestAPhoneThatChangesItsNodeIsOnline: it comes to the node that is asking the table. When it has left again meanwhile,
// the node knows only that it does not know.
func TestAPhoneThatChangesItsNodeIsOnline(t *testing.T) {
	script(t, func(t *testing.T) {
		slow, table := &slowTable{}, route.NewMemory(nil)
		a := Start(t, 2, shareSlowly(slow, table, "a"))
		b := Start(t, 2, Share(table, "b", 1))
		Idle(20 * time.Second)
		ann, _ := a.Login(0, Login{User: "ann", Device: "phone"})
		known(a, "bob")
		attempt := uint64(0)
		login := func(n *Node) {
			attempt++
			n.Login(1, Login{User: "bob", Device: "phone", Attempt: attempt})
		}
		for _, tt := range []struct {
			what   string
			after  bool // it leaves after the table was read
			state  protocol.PresenceState
			device route.DeviceState
		}{
			{"it stays", false, protocol.Online, route.DeviceActive},
			{"it leaves again", true, protocol.PresenceUnknown, route.DeviceUnknown},
		} {
			login(b)
			Idle(time.Second)
			if got := ann.ask("bob")[0]; got.State != protocol.Online {
				t.Fatalf("%s: before, %v", tt.what, got.State)
			}
			slow.takes.Store(int64(200 * time.Millisecond))
			states := phoneOfBob(a)
			ann.Send(&protocol.Presence{ID: 70 + attempt, Users: [][]byte{[]byte("bob")}})
			Idle(10 * time.Millisecond)
			login(a)
			if tt.after {
				Idle(110 * time.Millisecond)
				login(b)
			}
			if got := Expect[*protocol.PresenceList](ann).Users[0]; got.State != tt.state {
				t.Errorf("%s: %v, want %v", tt.what, got.State, tt.state)
			}
			if got := <-states; got != tt.device {
				t.Errorf("%s: his phone is %v, want %v", tt.what, got, tt.device)
			}
			slow.takes.Store(0)
			Idle(time.Second)
		}
	})
}
