package servertest

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server/route"
)

// TestTheKernelIsAskedOnSuspicionOnly: neither a device that is well nor one whose app hangs costs a system call; one that
// is silent does, from its first Probe until it is heard.
func TestTheKernelIsAskedOnSuspicionOnly(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		well, _ := n.Login(0, Login{User: "well", Device: "phone"})
		hung, _ := n.Login(0, Login{User: "hung", Device: "phone"})
		well.Message("hung", "1", "never acknowledged")
		well.Message("well", "2", "to myself")
		well.Push()
		well.Ack(1)
		for range 9 {
			Idle(time.Minute)
			well.Send(&protocol.Ping{})
			hung.Send(&protocol.Ping{})
		}
		synctest.Wait()
		if s := deviceState(t, n, "hung", "phone"); s != route.DeviceLagging {
			t.Fatalf("the app that hangs is %v", s)
		}
		Idle(74 * time.Second)
		if well.Asked() != 0 || hung.Asked() != 0 {
			t.Errorf("asked %d and %d times without suspicion", well.Asked(), hung.Asked())
		}
		Idle(3 * time.Second)
		if well.Asked() != 0 {
			t.Error("asked together with the first Probe: it cannot have an answer yet")
		}
		Idle(20 * time.Second)
		asked := well.Asked()
		if asked == 0 {
			t.Error("not asked while Probes were out")
		}
		well.Send(&protocol.ProbeAck{})
		Idle(74 * time.Second)
		if well.Asked() != asked {
			t.Errorf("asked %d times more after the answer", well.Asked()-asked)
		}
	})
}

// TestAWriteThatFailsEndsTheSessionAtOnce: no silence has to pass.
func TestAWriteThatFailsEndsTheSessionAtOnce(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(1, Login{User: "bob", Device: "phone"})
		bob.Break()
		alice.Message("bob", "1", "x")
		synctest.Wait()
		if s := deviceState(t, n, "bob", "phone"); s != route.DeviceNone || n.Core.Sessions() != 1 {
			t.Errorf("bob is %v, %d sessions", s, n.Core.Sessions())
		}
		if got := n.Counter(`lifeline_closes_total{reason="reset"}`); got != 1 {
			t.Errorf("%d closes as reset", got)
		}
	})
}

// TestASuspendingDeviceIsWakeableAtOnce: iOS stops the app soon after it has said so, and no push reaches it then.
func TestASuspendingDeviceIsWakeableAtOnce(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone", Platform: protocol.IOS})
		for _, tt := range []struct {
			activity protocol.Activity
			want     route.DeviceState
		}{
			{protocol.Background, route.DeviceActive}, {protocol.Suspending, route.DeviceSuspect}, {protocol.Foreground, route.DeviceActive},
			{protocol.Suspending, route.DeviceSuspect},
		} {
			bob.Send(&protocol.State{Activity: tt.activity})
			if h := Expect[*protocol.Pong](bob).Heartbeat; h.EchoLimitS != 0 {
				t.Errorf("%v: silence may be tried: %+v", tt.activity, h)
			}
			if got := deviceState(t, n, "bob", "phone"); got != tt.want {
				t.Errorf("%v: the device is %v, want %v", tt.activity, got, tt.want)
			}
		}
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		alice.Message("bob", "1", "still pushed to")
		bob.Push()
	})
}

// TestTheRouteWaitsForADoubtToLast: other nodes are told of a Suspect device after five seconds, and of its return after as
// many. A doubt that passes before costs no write.
func TestTheRouteWaitsForADoubtToLast(t *testing.T) {
	for _, tt := range []struct {
		doubt time.Duration
		told  bool
	}{{3 * time.Second, false}, {15 * time.Second, true}} {
		script(t, func(t *testing.T) {
			_, a, b := twoNodes(t)
			ann, _ := a.Login(0, Login{User: "ann", Device: "phone"})
			bob, _ := b.Login(0, Login{User: "bob", Device: "phone"})
			seen := func() bool { return fmt.Sprint(devices(ann.ask("bob")[0])) == "[phone*]" }
			here := func() bool { return deviceState(t, b, "bob", "phone") == route.DeviceSuspect }
			for !here() {
				if Idle(100 * time.Millisecond); seen() {
					t.Fatal("other nodes were told before there was a doubt")
				}
			}
			writes := b.Line(`lifeline_route_writes_total{what="refreshed"}`)
			for began := time.Now(); time.Since(began) < tt.doubt; Idle(100 * time.Millisecond) {
				if after := time.Since(began); seen() != (after > 5500*time.Millisecond) && (after < 4*time.Second || after > 7*time.Second) {
					t.Fatalf("after %v of doubt other nodes see it: %v", after, seen())
				}
			}
			bob.Send(&protocol.ProbeAck{})
			Idle(8 * time.Second)
			if here() || seen() {
				t.Errorf("long after the answer the device is suspect here: %v, elsewhere: %v", here(), seen())
			}
			want := 0.0
			if tt.told {
				want = 2
			}
			if got := b.Line(`lifeline_route_writes_total{what="refreshed"}`) - writes; got != want {
				t.Errorf("%v routes were written, want %v", got, want)
			}
		})
	}
}

// TestALaggingPhoneIsSuspectOnEveryNode: its line works and its app acknowledges nothing, so a push alone may not reach
// its user. A client is told the same of it on whichever node it asks.
func TestALaggingPhoneIsSuspectOnEveryNode(t *testing.T) {
	script(t, func(t *testing.T) {
		table := route.NewMemory(nil)
		a := Start(t, 2, Share(table, "a", 1))
		Idle(10 * time.Second)
		bob, _ := a.Login(1, Login{User: "bob", Device: "phone"})
		bob.Ack(0)
		ann, _ := a.Login(0, Login{User: "ann", Device: "phone"})
		ann.Message("bob", "1", "x")
		ann.Push()
		ann.Ack(1)
		bob.Push()
		b := Start(t, 2, Share(table, "b", 1))
		for range 2 {
			Idle(40 * time.Second)
			bob.Send(&protocol.Ping{})
			ann.Send(&protocol.Ping{})
			Expect[*protocol.Pong](ann)
		}
		bea, _ := b.Login(0, Login{User: "bea", Device: "phone"})
		for _, asker := range []*Client{ann, bea} {
			if got := devices(asker.ask("bob")[0]); !slices.Equal(got, []string{"phone*"}) {
				t.Errorf("%p is told of %q", asker, got)
			}
		}
		for n, want := range map[*Node]route.DeviceState{a: route.DeviceLagging, b: route.DeviceSuspect} {
			if got := deviceState(t, n, "bob", "phone"); got != want {
				t.Errorf("his phone is %v, want %v", got, want)
			}
		}
	})
}
