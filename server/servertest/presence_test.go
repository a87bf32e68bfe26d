package servertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/server/route"
)

// ask sends a Presence and returns what is said of each user, in the order asked for.
func (c *Client) ask(users ...string) []protocol.UserPresence {
	c.t.Helper()
	c.requests++
	f := &protocol.Presence{ID: c.requests}
	for _, u := range users {
		f.Users = append(f.Users, []byte(u))
	}
	c.Send(f)
	list := Expect[*protocol.PresenceList](c)
	if list.ID != c.requests {
		c.t.Fatalf("answer %d to request %d", list.ID, c.requests)
	}
	return list.Users
}

// [P-6.36], [P-6.37], [P-6.38], [P-6.40]
func TestPresenceOfOneNode(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2, func(o *server.CoreOptions) {
			o.MaySee = func(asker, user string) bool { return user != "hermit" }
		})
		ann, _ := n.Login(0, Login{User: "ann", Device: "phone"})
		phone, _ := n.Login(0, Login{User: "bob", Device: "phone", Platform: protocol.IOS})
		n.Login(1, Login{User: "bob", Device: "desktop", Platform: protocol.Desktop})
		n.Login(1, Login{User: "hermit", Device: "phone"})
		cid, _ := n.Login(1, Login{User: "cid", Device: "phone"})
		cid.Ack(0)
		Idle(time.Second)
		cid.Send(&protocol.Bye{})
		cid.ExpectEnd()
		Idle(time.Second)

		got := ann.ask("cid", "bob", "nobody", "hermit", "bob")
		if len(got) != 4 {
			t.Fatalf("%d users in the answer", len(got))
		}
		if c := got[0]; c.State != protocol.Offline || c.LastSeenMs == 0 || len(c.Devices) != 0 {
			t.Errorf("cid, who said goodbye: %+v", c)
		}
		if b := got[1]; b.State != protocol.Online || len(b.Devices) != 2 {
			t.Errorf("bob, on two devices: %+v", b)
		}
		if x := got[2]; x.State != protocol.PresenceUnknown {
			t.Errorf("nobody: %+v", x)
		}
		if h := got[3]; h.State != protocol.PresenceUnknown || len(h.Devices) != 0 {
			t.Errorf("the hermit: %+v", h)
		}
		phone.Send(&protocol.State{Activity: protocol.Suspending})
		Expect[*protocol.Pong](phone)
		if got := devices(ann.ask("bob")[0]); !slices.Equal(got, []string{"desktop", "phone*"}) {
			t.Errorf("bob, whose phone is about to be suspended: %q", got)
		}

		for _, tt := range []struct {
			frame *protocol.Presence
			want  protocol.Code
		}{
			{&protocol.Presence{ID: 90}, protocol.CodeBadRange},
			{&protocol.Presence{ID: 91, Users: [][]byte{[]byte("a\x1fb")}}, protocol.CodeInvalidID},
			{&protocol.Presence{ID: 92, Users: make([][]byte, 201)}, protocol.CodeBadRange},
		} {
			ann.Send(tt.frame)
			if e := Expect[*protocol.Error](ann); e.ID != tt.frame.ID || e.Status.Code != tt.want {
				t.Errorf("got %s, want %v", e.AppendText(nil), tt.want)
			}
		}
	})
}

// TestLastSeenBehindAStandstill: a node that stood still knows when it last heard a device, whatever it holds of silence.
func TestLastSeenBehindAStandstill(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		ann, _ := n.Login(0, Login{User: "ann", Device: "phone", Activity: protocol.Background})
		bob, _ := n.Login(1, Login{User: "bob", Device: "phone", Activity: protocol.Background})
		Idle(time.Second)
		bob.Ack(0)
		last := time.Now()
		Idle(time.Second)
		resume := []func(){n.Pause(0), n.Pause(1)}
		Idle(10 * time.Minute)
		for _, r := range resume {
			r()
		}
		Idle(time.Second)
		bob.Close()
		synctest.Wait()
		got := ann.ask("bob")[0]
		if off := time.UnixMilli(int64(got.LastSeenMs)).Sub(last); got.State != protocol.Offline || off.Abs() > time.Second {
			t.Errorf("%v, last seen %v after his last word", got.State, off)
		}
	})
}

// [P-6.37]
func TestALongPresenceSaysMore(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1, func(o *server.CoreOptions) { o.MaxPayload = 1024 })
		var users []string
		for i := range 80 {
			users = append(users, fmt.Sprintf("a-user-with-quite-a-long-name-%d", i))
			n.Login(0, Login{User: users[i], Device: fmt.Sprintf("and-a-device-with-a-long-name-too-%d", i)})
		}
		ann, _ := n.Login(0, Login{User: "ann", Device: "phone"})
		rounds := 0
		for rest := users; len(rest) > 0; rounds++ {
			got := ann.ask(rest...)
			if len(got) == 0 {
				t.Fatal("an answer without a user")
			}
			for i, u := range got {
				if string(u.User) != rest[i] || u.State != protocol.Online {
					t.Fatalf("got %+v, want %s", u, rest[i])
				}
			}
			rest = rest[len(got):]
		}
		if rounds < 2 {
			t.Errorf("all came in %d answers", rounds)
		}
	})
}

// twoNodes runs two nodes that share a table. Each has a store of its own, so together they are no cluster.
func twoNodes(t *testing.T) (table *route.Memory, a, b *Node) {
	table = route.NewMemory(nil)
	a = Start(t, 2, Share(table, "a", 1))
	b = Start(t, 2, Share(table, "b", 1))
	Idle(10 * time.Second)
	synctest.Wait()
	return table, a, b
}

// [P-6.38]
func TestPresenceAcrossTwoNodes(t *testing.T) {
	script(t, func(t *testing.T) {
		table, a, b := twoNodes(t)
		ann, _ := a.Login(0, Login{User: "ann", Device: "phone"})
		bob, _ := b.Login(1, Login{User: "bob", Device: "phone", Platform: protocol.Android})
		bob.Ack(0)
		Idle(time.Second)
		if got := ann.ask("bob")[0]; got.State != protocol.Online || len(got.Devices) != 1 || string(got.Devices[0].Device) != "phone" {
			t.Fatalf("bob, on the other node: %+v", got)
		}
		bob.Close()
		Idle(time.Second)
		if got := ann.ask("bob")[0]; got.State == protocol.Online {
			t.Fatalf("bob, who has gone: %+v", got)
		}
		n := 0
		for range 50 {
			c, _ := b.Login(n%2, Login{User: fmt.Sprint("user-", n), Device: "phone"})
			c.Ack(0)
			n++
		}
		Idle(time.Second)
		table.Flush()
		if got := ann.ask("user-7")[0]; got.State == protocol.Offline {
			t.Fatalf("right after the table was emptied: %+v", got)
		}
		Idle(30 * time.Second)
		for _, c := range []*Client{ann} {
			c.Send(&protocol.Ping{})
			Expect[*protocol.Pong](c)
		}
		if got := ann.ask("user-7")[0]; got.State != protocol.Online {
			t.Fatalf("once the table is whole again: %+v", got)
		}
	})
}

// devices lists those of an answer, with a star at each suspect.
func devices(u protocol.UserPresence) (list []string) {
	for _, d := range u.Devices {
		name := string(d.Device)
		if d.Suspect {
			name += "*"
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// stoppable is a table whose calls, while it is stopped, fail after the time that a real one is given.
type stoppable struct {
	route.Table
	stopped atomic.Bool
}

const callTimeout = 400 * time.Millisecond

var errStopped = errors.New("no answer")

func (s *stoppable) call() error {
	if !s.stopped.Load() {
		return nil
	}
	time.Sleep(callTimeout)
	return errStopped
}

// Lookup implements [route.Table].
func (s *stoppable) Lookup(ctx context.Context, users []string) (route.Lookup, error) {
	if err := s.call(); err != nil {
		return route.Lookup{}, err
	}
	return s.Table.Lookup(ctx, users)
}

// Leases implements [route.Table].
func (s *stoppable) Leases(ctx context.Context) (route.Leases, error) {
	if err := s.call(); err != nil {
		return route.Leases{}, err
	}
	return s.Table.Leases(ctx)
}

// Renew implements [route.Table].
func (s *stoppable) Renew(ctx context.Context, l route.Lease, ttl time.Duration) (bool, error) {
	if err := s.call(); err != nil {
		return false, err
	}
	return s.Table.Renew(ctx, l, ttl)
}

// TestDevicesOnTwoNodes: whoever asks, on whichever node, is told of all of a user's devices. When the table cannot be
// asked he is told of those that are there, and soon.
func TestDevicesOnTwoNodes(t *testing.T) {
	script(t, func(t *testing.T) {
		table := route.NewMemory(nil)
		self := route.Self{Node: "a", Incarnation: 1, Directory: "a", TTL: time.Hour}
		slow := &stoppable{Table: table.Table(self, nil)}
		a := Start(t, 2, Share(table, "a", 1), func(o *server.CoreOptions) {
			o.Routes.Table = func(route.Self) (route.Table, error) { return slow, nil }
		})
		b := Start(t, 2, Share(table, "b", 1))
		Idle(10 * time.Second)
		ann, _ := a.Login(0, Login{User: "ann", Device: "phone"})
		dan, _ := b.Login(0, Login{User: "dan", Device: "phone"})
		a.Login(0, Login{User: "bob", Device: "phone"})
		a.Login(1, Login{User: "bob", Device: "desktop"})
		web, _ := b.Login(1, Login{User: "bob", Device: "web"})
		web.Send(&protocol.State{Activity: protocol.Suspending})
		Idle(time.Second)
		for _, asker := range []*Client{ann, dan} {
			if got := devices(asker.ask("bob")[0]); !slices.Equal(got, []string{"desktop", "phone", "web*"}) {
				t.Errorf("%p is told of %q", asker, got)
			}
		}
		states, err := a.Core.DeviceStates(t.Context(), "bob", []string{"phone", "tv"})
		if want := "map[desktop:active phone:active tv:none web:suspect]"; err != nil || fmt.Sprint(states) != want {
			t.Errorf("the devices are %v, %v, want %s", states, err, want)
		}

		// A record of this node without a session is only not removed yet.
		ghost := route.Session{User: "bob", Device: "ghost", ConnID: 1 << 60, Started: time.Now(), Seen: time.Now()}
		if _, err := table.Table(self, nil).Register(t.Context(), []route.Session{ghost}); err != nil {
			t.Fatal(err)
		}
		if got := devices(ann.ask("bob")[0]); !slices.Equal(got, []string{"desktop", "phone", "web*"}) {
			t.Errorf("ann is told of %q", got)
		}

		const budget = 2 * time.Second
		slow.stopped.Store(true)
		for i := range 20 {
			began := time.Now()
			bob := ann.ask("bob")[0]
			took := time.Since(began)
			if got := devices(bob); bob.State != protocol.Online || !slices.Equal(got, []string{"desktop", "phone"}) || took >= budget {
				t.Fatalf("without the table, after %v: %v, %q", took, bob.State, got)
			}
			if i > 3 && took > callTimeout/4 {
				t.Errorf("answer %d waited %v for a table that does not answer", i, took)
			}
			Idle(200 * time.Millisecond)
		}
		states, err = a.Core.DeviceStates(t.Context(), "bob", []string{"phone", "tv", "web"})
		if want := "map[desktop:active phone:active tv:unknown web:unknown]"; err != nil || fmt.Sprint(states) != want {
			t.Errorf("without the table the devices are %v, %v, want %s", states, err, want)
		}
		slow.stopped.Store(false)
		Idle(30 * time.Second)
		for _, c := range []*Client{ann, web} {
			c.Send(&protocol.Ping{})
			Expect[*protocol.Pong](c)
		}
		if got := devices(ann.ask("bob")[0]); !slices.Contains(got, "web*") {
			t.Errorf("afterwards ann is told of %q", got)
		}
	})
}

// [P-6.3]
func TestDisplacementAcrossTwoNodes(t *testing.T) {
	script(t, func(t *testing.T) {
		_, a, b := twoNodes(t)
		old, _ := a.Login(0, Login{User: "bob", Device: "phone", Instance: 7})
		Idle(time.Second)
		fresh, _ := b.Login(1, Login{User: "bob", Device: "phone", Instance: 8})
		old.ExpectClose(protocol.CodeDisplaced)
		Idle(time.Second)
		fresh.Send(&protocol.Ping{})
		Expect[*protocol.Pong](fresh)

		again, _ := a.Login(1, Login{User: "bob", Device: "phone", Instance: 8, Attempt: 2})
		fresh.ExpectClose(protocol.CodeSuperseded)
		Idle(5 * time.Second)
		again.Send(&protocol.Ping{})
		Expect[*protocol.Pong](again)
		if a.Core.Sessions() != 1 || b.Core.Sessions() != 0 {
			t.Fatalf("%d and %d sessions", a.Core.Sessions(), b.Core.Sessions())
		}
	})
}

func TestTwoStoresRefuseToSend(t *testing.T) {
	script(t, func(t *testing.T) {
		_, a, _ := twoNodes(t)
		ann, _ := a.Login(0, Login{User: "ann", Device: "phone"})
		ack := ann.Message("bob", "1", "x")
		if ack.Status.Code != protocol.CodeNotHere || ack.Status.Retry != protocol.RetryAfter {
			t.Fatalf("got %s", ack.AppendText(nil))
		}
		if s, _ := a.Mem.Start("bob", "phone"); s.Head != 0 {
			t.Fatal("something was stored")
		}
	})
}

// TestAPausedNodeDoesNotWin: a node that stood still keeps an old session, and a newer one elsewhere must not lose its
// place to it when the old one is registered again.
func TestAPausedNodeDoesNotWin(t *testing.T) {
	script(t, func(t *testing.T) {
		table, a, b := twoNodes(t)
		old, _ := a.Login(0, Login{User: "bob", Device: "phone", Instance: 7})
		Idle(5 * time.Second)
		resume := []func(){a.Pause(0), a.Pause(1)}
		Idle(10 * time.Minute)
		fresh, _ := b.Login(1, Login{User: "bob", Device: "phone", Instance: 8})
		Idle(time.Minute)
		table.Flush() // everybody registers again, the paused node too
		for _, r := range resume {
			r()
		}
		old.ExpectClose(protocol.CodeDisplaced)
		Idle(10 * time.Second)
		fresh.Send(&protocol.Ping{})
		synctest.Wait()
		for _, f := range fresh.Pending() {
			if f.Type() == protocol.TypeClose {
				t.Fatalf("the newer session got %s", f.AppendText(nil))
			}
		}
	})
}
