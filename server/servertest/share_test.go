package servertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/server/route"
)

// TestAllDevicesArePushedTo: the phone was heard last, and the desktop and the web get the message as it does.
func TestAllDevicesArePushedTo(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2, Share(route.NewMemory(nil), "a", 1))
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		var all []*Client
		for i, device := range []string{"desktop", "web", "phone"} {
			c, _ := n.Login(i%2, Login{User: "bob", Device: device, Instance: uint64(i + 2)})
			c.Ack(0)
			all = append(all, c)
			Idle(10 * time.Second)
		}
		all[2].Send(&protocol.Ping{})
		Expect[*protocol.Pong](all[2])
		if got := devices(alice.ask("bob")[0]); !slices.Equal(got, []string{"desktop", "phone", "web"}) {
			t.Fatalf("bob is on %q", got)
		}
		if ack := alice.Message("bob", "1", "to all"); ack.Status.Failed() {
			t.Fatalf("the message: %s", ack.AppendText(nil))
		}
		for i, c := range all {
			if got := c.Push(); len(got) != 1 || string(got[0].Message.Payload) != "to all" {
				t.Errorf("device %d got %+v", i, got)
			}
		}
	})
}

// TestLastSeenIsWrittenAtTheEnd: an offline user was seen when his last session ended, also by a node that is asked later.
func TestLastSeenIsWrittenAtTheEnd(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2, Share(route.NewMemory(nil), "a", 1))
		ann, _ := n.Login(0, Login{User: "ann", Device: "phone"})
		var last time.Time
		for _, device := range []string{"web", "phone"} {
			c, _ := n.Login(1, Login{User: "bob", Device: device})
			c.Ack(0)
			Idle(10 * time.Second)
			last = time.Now()
			c.Send(&protocol.Bye{})
			c.ExpectClose(protocol.CodeBye)
			Idle(10 * time.Second)
		}
		bob := ann.ask("bob")[0]
		if seen := time.UnixMilli(int64(bob.LastSeenMs)); bob.State != protocol.Offline || seen.Sub(last).Abs() > time.Second {
			t.Errorf("bob is %v and was seen %v after his last word", bob.State, seen.Sub(last))
		}
	})
}

// TestOnePhoneAcrossTwoNodes: where a user may have one session on each platform, a second phone on another node takes the
// place of the first.
func TestOnePhoneAcrossTwoNodes(t *testing.T) {
	script(t, func(t *testing.T) {
		table := route.NewMemory(nil)
		exclusive := func(o *server.CoreOptions) { o.ExclusivePlatform = true }
		a, b := Start(t, 2, Share(table, "a", 1), exclusive), Start(t, 2, Share(table, "b", 1), exclusive)
		Idle(10 * time.Second)
		old, _ := a.Login(0, Login{User: "bob", Device: "old-phone", Platform: protocol.IOS, Instance: 1})
		desktop, _ := a.Login(1, Login{User: "bob", Device: "desktop", Platform: protocol.Desktop, Instance: 2})
		Idle(time.Second)
		fresh, _ := b.Login(1, Login{User: "bob", Device: "new-phone", Platform: protocol.IOS, Instance: 3})
		old.ExpectClose(protocol.CodeDisplaced)
		for _, c := range []*Client{desktop, fresh} {
			c.Send(&protocol.Ping{})
			Expect[*protocol.Pong](c)
		}
		Idle(time.Second)
		if got := devices(fresh.ask("bob")[0]); !slices.Equal(got, []string{"desktop", "new-phone"}) {
			t.Errorf("bob is on %q", got)
		}
	})
}

// TestWhoLogsInLaterOnAnotherNodeStays: however little later, once the first is in the table, and whatever the clocks of
// the two nodes say of tenths of a second.
func TestWhoLogsInLaterOnAnotherNodeStays(t *testing.T) {
	script(t, func(t *testing.T) {
		table := route.NewMemory(nil)
		a := Start(t, 1, Share(table, "a", 1))
		Idle(50 * time.Millisecond)
		b := Start(t, 1, Share(table, "b", 1))
		Idle(10 * time.Second)
		for i := range 40 {
			user := fmt.Sprintf("user-%d", i)
			on, then := a, b
			if i%2 == 1 {
				on, then = b, a
			}
			first, _ := on.Login(0, Login{User: user, Device: "phone", Instance: 1})
			Idle(25 * time.Millisecond)
			second, _ := then.Login(0, Login{User: user, Device: "phone", Instance: 2})
			first.ExpectClose(protocol.CodeDisplaced)
			second.Send(&protocol.Ping{})
			Expect[*protocol.Pong](second)
			Idle(82 * time.Millisecond)
		}
	})
}

// TestALongSessionStaysInTheTable: the sweep has a record rewritten whenever a third of its time has passed, so that it
// never lapses under a session that lives, and reconcile finds nothing to repair.
func TestALongSessionStaysInTheTable(t *testing.T) {
	script(t, func(t *testing.T) {
		_, a, b := twoNodes(t)
		ann, _ := a.Login(0, Login{User: "ann", Device: "phone"})
		bob, _ := b.Login(1, Login{User: "bob", Device: "phone"})
		const minutes = 200
		for minute := range minutes {
			Idle(time.Minute)
			for _, c := range []*Client{ann, bob} {
				c.Send(&protocol.Ping{})
				Expect[*protocol.Pong](c)
			}
			if got := ann.ask("bob")[0]; got.State != protocol.Online {
				t.Fatalf("in minute %d bob is %v", minute, got.State)
			}
		}
		if n := b.Line(`lifeline_route_writes_total{what="refreshed"}`); n < minutes/20-1 || n > minutes/20+1 {
			t.Errorf("the record was rewritten %v times in %d minutes, want every 20", n, minutes)
		}
		if n := b.Line("lifeline_routes_repaired_total"); n != 0 {
			t.Errorf("%v records were repaired", n)
		}
	})
}
