package servertest

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/server/liveness"
	"lifeline/server/route"
)

// silentFor lets time pass and returns the frames that came meanwhile.
func silentFor(c *Client, d time.Duration) []protocol.Frame {
	Idle(d)
	synctest.Wait()
	return c.Pending()
}

func wantTypes(t *testing.T, when string, got []protocol.Frame, want ...protocol.Type) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d frames came, want %v", when, len(got), want)
	}
	for i, f := range got {
		if f.Type() != want[i] {
			t.Fatalf("%s: got %s, want %v", when, f.AppendText(nil), want[i])
		}
	}
}

func deviceState(t *testing.T, n *Node, user, device string) route.DeviceState {
	t.Helper()
	states, err := n.Core.DeviceStates(t.Context(), user, []string{device})
	if err != nil {
		t.Fatal(err)
	}
	return states[device]
}

// [P-6.23]
func TestSilenceIsAskedAboutBeforeItEndsASession(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		wantTypes(t, "within the limit of 75 s", silentFor(bob, 74*time.Second))
		wantTypes(t, "past it", silentFor(bob, 3*time.Second), protocol.TypeProbe)
		wantTypes(t, "ten seconds later", silentFor(bob, 10*time.Second), protocol.TypeProbe)
		if s := deviceState(t, n, "bob", "phone"); s != route.DeviceActive {
			t.Fatalf("while probed the device is %v", s)
		}
		wantTypes(t, "another ten seconds later", silentFor(bob, 10*time.Second))
		if s := deviceState(t, n, "bob", "phone"); s != route.DeviceSuspect {
			t.Fatalf("after the probes the device is %v", s)
		}
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		alice.Message("bob", "1", "still pushed to")
		bob.Push()

		bob.Send(&protocol.ProbeAck{})
		synctest.Wait()
		if s := deviceState(t, n, "bob", "phone"); s != route.DeviceActive {
			t.Fatalf("an answer leaves the device %v", s)
		}
		bob.Ack(1)
		Idle(75*time.Second + 20*time.Second + 25*time.Second)
		synctest.Wait()
		for _, f := range bob.Pending() {
			if f.Type() == protocol.TypeClose {
				t.Fatalf("closed before the hold of 30 s: %s", f.AppendText(nil))
			}
		}
		bob.ExpectClose(protocol.CodeSilent)
		if s := deviceState(t, n, "bob", "phone"); s != route.DeviceNone {
			t.Fatalf("at the end the device is %v", s)
		}
	})
}

func TestASilentBackgroundDeviceIsHeldLonger(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, hello := n.Login(0, Login{User: "bob", Device: "phone", Activity: protocol.Background})
		if hello.Heartbeat.IntervalS != 240 {
			t.Fatalf("granted %+v", hello.Heartbeat)
		}
		Idle((264 + 20 + 595) * time.Second)
		if n.Core.Sessions() != 1 {
			t.Fatal("closed before the hold of 600 s")
		}
		bob.ExpectClose(protocol.CodeSilent)
	})
}

// [P-6.32]
func TestADeadPathIsClosedWithoutAWord(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		bob.Path(liveness.PathInfo{Known: true, Queued: 100, Backoff: 5, AckAge: time.Minute})
		for {
			f, err := bob.next()
			if err == errPatience {
				continue
			}
			if err != nil {
				break
			}
			if f.Type() != protocol.TypeProbe {
				t.Fatalf("got %s", f.AppendText(nil))
			}
		}
		if got := n.Counter(`lifeline_closes_total{reason="silent"}`); got != 1 {
			t.Fatalf("%d closes as silent", got)
		}
	})
}

// TestAPauseOfTheProcessExpiresNobody: loops that stand still for longer than every limit find silence afterwards, but
// it is their own.
func TestAPauseOfTheProcessExpiresNobody(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		var all []*Client
		for i := range 20 {
			c, _ := n.Login(i%2, Login{User: fmt.Sprint("user-", i), Device: "phone"})
			all = append(all, c)
		}
		silent := n.Dial(0) // not even logged in
		resume := []func(){n.Pause(0), n.Pause(1)}
		Idle(30 * time.Minute)
		for _, r := range resume {
			r()
		}
		Idle(time.Second)
		synctest.Wait()
		if got := n.Core.Sessions(); got != len(all) {
			t.Fatalf("%d sessions after the pause, want %d", got, len(all))
		}
		for _, c := range all {
			c.Send(&protocol.Ping{})
			Expect[*protocol.Pong](c)
		}
		silent.ExpectClose(protocol.CodeConnectTimeout)
	})
}

func TestAnAppThatAcknowledgesNothingIsLaggingAndEndsAtLast(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		alice.Message("bob", "1", "x")
		alice.Send(&protocol.Bye{})
		probes := 0
		for minute := range 13 {
			for range 3 {
				Idle(20 * time.Second)
				if n.Core.Sessions() == 0 {
					break
				}
				bob.Send(&protocol.Ping{})
			}
			synctest.Wait()
			for _, f := range bob.Pending() {
				switch f := f.(type) {
				case *protocol.Probe:
					probes++
				case *protocol.Close:
					if f.Status.Code != protocol.CodeSlowConsumer || minute < 9 || probes != 1 {
						t.Fatalf("in minute %d, after %d probes: %s", minute, probes, f.AppendText(nil))
					}
					return
				}
			}
			if minute == 2 {
				if s := deviceState(t, n, "bob", "phone"); s != route.DeviceLagging {
					t.Fatalf("after two minutes the device is %v", s)
				}
			}
		}
		t.Fatal("still there after 13 minutes")
	})
}

// [P-6.26]
func TestAnEchoProvesALongerHeartbeat(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, hello := n.Login(0, Login{User: "bob", Device: "phone", Activity: protocol.Background, Platform: protocol.Android})
		if hello.Heartbeat.EchoLimitS != 900 {
			t.Fatalf("granted %+v", hello.Heartbeat)
		}
		bob.Send(&protocol.Ping{EchoAfterS: 600})
		if pong := Expect[*protocol.Pong](bob); pong.HasHeartbeat {
			t.Fatalf("refused: %s", pong.AppendText(nil))
		}
		wantTypes(t, "before it is due, beyond the limit of the heartbeat", silentFor(bob, 590*time.Second))
		wantTypes(t, "when it is due", silentFor(bob, 12*time.Second), protocol.TypeEcho)
		bob.Send(&protocol.Ping{})
		if h := Expect[*protocol.Pong](bob).Heartbeat; h.IntervalS != 540 {
			t.Fatalf("the proof of 600 s brought %+v, want 540 s", h)
		}
		bob.Send(&protocol.Ping{EchoAfterS: 901})
		if pong := Expect[*protocol.Pong](bob); !pong.HasHeartbeat || pong.Heartbeat.EchoLimitS != 0 {
			t.Fatalf("beyond the limit: %s", pong.AppendText(nil))
		}
		bob.Send(&protocol.Ping{EchoAfterS: 700})
		Expect[*protocol.Pong](bob)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		alice.Message("bob", "1", "breaks the silence")
		bob.Push()
		bob.Ack(1)
		wantTypes(t, "a cancelled experiment", silentFor(bob, 705*time.Second), protocol.TypeProbe, protocol.TypeProbe)
	})
}

// [P-6.29]
func TestTooManyPingsInBackground(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		front, _ := n.Login(0, Login{User: "front", Device: "phone"})
		back, _ := n.Login(0, Login{User: "back", Device: "phone", Activity: protocol.Background})
		for range 40 {
			front.Send(&protocol.Ping{})
			Expect[*protocol.Pong](front)
		}
		for range 20 {
			back.Send(&protocol.Ping{})
			Expect[*protocol.Pong](back)
		}
		back.Send(&protocol.Ping{})
		back.ExpectClose(protocol.CodeTooManyPings)
		steady, _ := n.Login(0, Login{User: "steady", Device: "phone", Activity: protocol.Background})
		for range 60 {
			Idle(16 * time.Second)
			steady.Send(&protocol.Ping{})
			Expect[*protocol.Pong](steady)
		}
	})
}

// TestShortHeartbeatsInBackgroundAreNotTooMany: a client that pings as often as it was told is never ended for it [P-6.29].
func TestShortHeartbeatsInBackgroundAreNotTooMany(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 10 * time.Second, 15 * time.Second, 29 * time.Second, 60 * time.Second} {
		script(t, func(t *testing.T) {
			n := Start(t, 1, func(o *server.CoreOptions) { o.Heartbeat.Desktop = interval })
			c, _ := n.Login(0, Login{User: "bob", Device: "desk", Platform: protocol.Desktop, Activity: protocol.Background})
			for range 200 {
				Idle(interval * 9 / 10)
				c.Send(&protocol.Ping{})
				Expect[*protocol.Pong](c)
			}
			if n.Core.Sessions() != 1 {
				t.Fatalf("a heartbeat of %v was ended", interval)
			}
			if interval > time.Second { // less than which seconds cannot tell
				for range 200 {
					Idle(interval / 10)
					c.Send(&protocol.Ping{})
				}
				c.ExpectClose(protocol.CodeTooManyPings)
			}
		})
	}
}

func TestDesktopsAndWiredClientsPingEveryMinute(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		_, hello := n.Login(0, Login{User: "bob", Device: "desktop", Platform: protocol.Desktop, Activity: protocol.Background})
		if h := hello.Heartbeat; h.IntervalS != 60 || h.EchoLimitS != 0 {
			t.Errorf("a desktop got %+v", h)
		}
		wired := n.Dial(0)
		f := Login{User: "eve", Device: "tv", Activity: protocol.Background}.Frame()
		f.Network.Class = protocol.Wired
		wired.Send(f)
		if h := Expect[*protocol.Connack](wired).Heartbeat; h.IntervalS != 60 {
			t.Errorf("a wired client got %+v", h)
		}
		slow := n.Dial(0)
		f = Login{User: "dan", Device: "phone", Activity: protocol.Background, Platform: protocol.Android}.Frame()
		f.Network = protocol.Network{Class: protocol.CellularSlow, LowS: 1000}
		slow.Send(f)
		if h := Expect[*protocol.Connack](slow).Heartbeat; h.IntervalS != 600 || h.EchoLimitS != 600 {
			t.Errorf("2G with 1,000 s proven got %+v", h)
		}
	})
}
