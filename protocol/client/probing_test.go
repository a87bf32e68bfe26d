package client

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"lifeline/protocol"
)

// inPocket is a phone in background on a network that it can tell from others.
func inPocket(w *world) {
	w.o.Platform = protocol.Android
	w.o.Activity = protocol.Background
	w.o.Network = protocol.Network{Class: protocol.WiFi, Key: homeKey}
}

// grants is a heartbeat of 240 s, and leave to try more.
var grants = protocol.Heartbeat{IntervalS: 240, EchoLimitS: 900, Activity: protocol.Background}

func granted(f *protocol.Connack) { f.Heartbeat = grants }

// expectPing waits for a Ping, which must come after this long and ask for this.
func (l *line) expectPing(after time.Duration, asks uint32) {
	l.w.t.Helper()
	began := time.Now()
	f, at := expectAt[*protocol.Ping](l)
	if at.Sub(began) != after || f.EchoAfterS != asks {
		l.w.t.Fatalf("after %v the client sent %s, want a ping after %v that asks for %d", at.Sub(began), f.AppendText(nil), after, asks)
	}
}

// settle answers the first Ping of a connection and the one behind it, which asks for what it is to ask for.
func (l *line) settle(asks uint32) {
	l.w.t.Helper()
	l.expectPing(120*time.Second, 0)
	l.send(&protocol.Pong{})
	l.expectPing(228*time.Second, asks)
}

func expectReported(t *testing.T, f *protocol.Connect, key uint64, low, high uint32) {
	t.Helper()
	if want := (protocol.Network{Class: protocol.WiFi, Key: key, LowS: low, HighS: high}); f.Network != want {
		t.Fatalf("Connect reports %+v, want %+v", f.Network, want)
	}
}

func TestTrialThatSucceedsIsReported(t *testing.T) {
	play(t, inPocket, func(t *testing.T, w *world) {
		l := w.at(0)
		expectReported(t, l.begin(0, granted), homeKey, 0, 0)
		l.settle(240)
		l.send(&protocol.Pong{})
		l.quiet(240 * time.Second) // longer than the heartbeat
		l.send(&protocol.Echo{})
		l.expectPing(0, 360)
		l.send(&protocol.Pong{})
		l.quiet(360 * time.Second)
		l.send(&protocol.Echo{})
		l.expectPing(0, 540)
		l.drop()
		expectReported(t, w.within(0, time.Minute).resume(0), homeKey, 360, 0)
	})
}

// A refusal holds until the server grants something else.
func TestTrialThatIsRefusedIsNotRepeated(t *testing.T) {
	play(t, inPocket, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, granted)
		l.settle(240)
		l.send(&protocol.Pong{Heartbeat: protocol.Heartbeat{IntervalS: 240}, HasHeartbeat: true})
		for range 3 {
			l.expectPing(228*time.Second, 0)
			l.send(&protocol.Pong{})
		}
		l.expectPing(228*time.Second, 0)
		l.send(&protocol.Pong{Heartbeat: grants, HasHeartbeat: true})
		l.expectPing(228*time.Second, 240)
	})
}

// On a network that forgets and opens again nothing is lost but the Echo.
func TestTrialWithoutEcho(t *testing.T) {
	play(t, inPocket, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, granted)
		l.settle(240)
		l.send(&protocol.Pong{})
		l.expectPing(252*time.Second, 0)
		l.send(&protocol.Pong{})
		l.expectPing(143_640*time.Millisecond, 168) // 0.95 · 0.9 · 168 s; what is a guess is tried
		l.send(&protocol.Pong{})
		l.drop()
		expectReported(t, w.within(0, time.Minute).resume(0), homeKey, 168, 240)
	})
}

// An Echo that comes behind the question whether the line is still there is no proof, and its lateness none either.
func TestLateEchoProvesNothing(t *testing.T) {
	play(t, inPocket, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, granted)
		l.settle(240)
		l.send(&protocol.Pong{})
		l.expectPing(252*time.Second, 0)
		l.send(&protocol.Echo{}, &protocol.Pong{})
		l.drop()
		expectReported(t, w.within(0, time.Minute).resume(0), homeKey, 0, 0)
	})
}

// Any frame in either direction ends a trial: the heartbeat goes on as granted [P-6.26].
func TestFrameEndsATrial(t *testing.T) {
	send := func(w *world, l *line) {
		if _, err := w.c.Send(&Outgoing{ToUser: "bob"}); err != nil {
			w.t.Fatal(err)
		}
		expect[*protocol.Send](l)
	}
	for _, tt := range []struct {
		name      string
		interrupt func(w *world, l *line)
		next      time.Duration // ping
		asks      uint32
	}{
		{"sent", send, 228 * sec, 240},
		{"received", func(_ *world, l *line) { l.send(&protocol.Result{}) }, 28 * sec, 240},
		{"probe", func(_ *world, l *line) { l.send(&protocol.Probe{}); expect[*protocol.ProbeAck](l) }, 228 * sec, 240},
		{"lost coverage", func(w *world, _ *line) { w.c.NetworkLost() }, 28 * sec, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, inPocket, func(t *testing.T, w *world) {
				l := w.at(0)
				l.begin(0, granted)
				l.settle(240)
				l.send(&protocol.Pong{})
				l.quiet(200 * time.Second)
				tt.interrupt(w, l)
				l.expectPing(tt.next, tt.asks)
				l.send(&protocol.Pong{})
				w.c.NetworkChanged(w.o.Network)
				expectReported(t, w.within(0, time.Minute).resume(0), homeKey, 0, 0)
			})
		})
	}
}

func TestWhoMakesNoTrials(t *testing.T) {
	for name, change := range map[string]func(o *Options){
		"foreground":          func(o *Options) { o.Activity = protocol.Foreground },
		"about to be stopped": func(o *Options) { o.Activity = protocol.Suspending },
		"iOS":                 func(o *Options) { o.Platform = protocol.IOS },
		"desktop":             func(o *Options) { o.Platform = protocol.Desktop },
		"unknown network":     func(o *Options) { o.Network.Key = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) { inPocket(w); change(&w.o) }, func(t *testing.T, w *world) {
				l := w.at(0)
				l.begin(0, granted)
				l.settle(0)
				for range 3 {
					l.send(&protocol.Pong{})
					l.expectPing(228*time.Second, 0)
				}
			})
		})
	}
}

func TestForegroundEndsATrial(t *testing.T) {
	play(t, inPocket, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, granted)
		l.settle(240)
		l.send(&protocol.Pong{})
		l.quiet(100 * time.Second)
		w.c.SetActivity(protocol.Foreground)
		expect[*protocol.State](l)
		l.send(&protocol.Pong{Heartbeat: protocol.Heartbeat{IntervalS: 60}, HasHeartbeat: true})
		for range 5 {
			l.expectPing(57*time.Second, 0)
			l.send(&protocol.Pong{})
		}
	})
}

// One death has many causes; of two within a day the silence is one.
func TestTwoSilentDeathsAreBelieved(t *testing.T) {
	play(t, inPocket, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, granted)
		l.settle(240)
		l.expectEnd()
		l = w.within(0, time.Minute)
		expectReported(t, l.resume(0, granted), homeKey, 0, 0)
		l.settle(240)
		l.expectEnd()
		expectReported(t, w.within(0, time.Minute).resume(0, granted), homeKey, 159, 228)
	})
}

// A State that nobody answers has found the line as dead as a Ping has.
func TestStateFindsADeath(t *testing.T) {
	play(t, inPocket, func(t *testing.T, w *world) {
		for _, activity := range []protocol.Activity{protocol.Suspending, protocol.Background} {
			l := w.within(0, time.Minute)
			if activity == protocol.Suspending {
				l.begin(0, granted)
			} else {
				expectReported(t, l.resume(0, granted), homeKey, 0, 0)
			}
			l.expectPing(120*time.Second, 0)
			l.send(&protocol.Pong{})
			l.quiet(200 * time.Second)
			w.c.SetActivity(activity)
			expect[*protocol.State](l)
			l.expectEnd()
		}
		expectReported(t, w.within(0, time.Minute).resume(0), homeKey, 140, 200)
	})
}

// Without coverage the silence is not to blame.
func TestDeathWithoutCoverageIsNone(t *testing.T) {
	play(t, inPocket, func(t *testing.T, w *world) {
		for range 2 {
			l := w.within(0, time.Minute)
			if f := expect[*protocol.Connect](l); f.HasPos {
				l.send(connack(0, granted))
			} else {
				l.send(connack(0, granted, reset))
				l.expectAck(0)
			}
			l.settle(240)
			w.c.NetworkLost()
			l.expectEnd()
			w.c.NetworkChanged(w.o.Network)
		}
		expectReported(t, w.within(0, time.Minute).resume(0), homeKey, 0, 0)
	})
}

// brittle is a connection that a network in between may reset.
type brittle struct {
	net.Conn
	reset chan struct{}
}

func (b brittle) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	select {
	case <-b.reset:
		return 0, &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	default:
		return n, err
	}
}

// A reset that answers a Ping says that the network has forgotten; one that answers nothing says nothing.
func TestResetsAreDeaths(t *testing.T) {
	for _, tt := range []struct {
		name      string
		answered  bool // the Ping was
		low, high uint32
	}{
		{"behind a ping", false, 159, 228},
		{"out of the blue", true, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resets := make(chan chan struct{}, 16)
			adjust := func(w *world) {
				inPocket(w)
				w.o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := w.dial(ctx, network, address)
					b := brittle{conn, make(chan struct{})}
					resets <- b.reset
					return b, err
				}
			}
			play(t, adjust, func(t *testing.T, w *world) {
				die := func(l *line) {
					l.settle(240)
					if tt.answered {
						l.send(&protocol.Pong{})
					}
					close(<-resets)
					l.drop()
				}
				l := w.at(0)
				l.begin(0, granted)
				die(l)
				l = w.within(0, time.Minute)
				expectReported(t, l.resume(0, granted), homeKey, 0, 0)
				die(l)
				expectReported(t, w.within(0, time.Minute).resume(0), homeKey, tt.low, tt.high)
			})
		})
	}
}

// A network that forgets and opens again shows by nothing else that it forgets sooner than it did.
func TestOldPushesBehindAPingAreDeaths(t *testing.T) {
	for _, tt := range []struct {
		name      string
		age       time.Duration // of the pushes
		low, high uint32
	}{
		{"sent in the silence", 100 * time.Second, 159, 228},
		{"fresh", 9 * time.Second, 0, 0},
		{"sent before the silence", 229 * time.Second, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, inPocket, func(t *testing.T, w *world) {
				l := w.at(0)
				l.begin(0, func(f *protocol.Connack) { f.Heartbeat = protocol.Heartbeat{IntervalS: 240} })
				l.settle(0)
				for n, name := range []string{"a", "b"} {
					f := push(uint64(n)+1, name)
					f.Entries[0].Message.TimeMs = uint64(time.Now().Add(-tt.age).UnixMilli())
					l.send(f, &protocol.Pong{})
					l.expectAck(uint64(n) + 1)
					if n == 0 {
						l.expectPing(228*time.Second, 0)
					}
				}
				l.drop()
				expectReported(t, w.within(0, time.Minute).resume(2), homeKey, tt.low, tt.high)
			})
		})
	}
}

func TestOldPushesBehindOnePingAreOneDeath(t *testing.T) {
	play(t, inPocket, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, granted)
		l.settle(240)
		for n, name := range []string{"a", "b"} {
			f := push(uint64(n)+1, name)
			f.Entries[0].Message.TimeMs = uint64(time.Now().Add(-100 * time.Second).UnixMilli())
			l.send(f)
		}
		l.expectAck(2)
		l.drop()
		expectReported(t, w.within(0, time.Minute).resume(2), homeKey, 0, 0)
	})
}

func TestBoundsBelongToANetwork(t *testing.T) {
	play(t, inPocket, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, granted)
		l.settle(240)
		l.send(&protocol.Pong{})
		l.quiet(240 * time.Second)
		l.send(&protocol.Echo{})
		l.expectPing(0, 360)
		w.c.NetworkChanged(protocol.Network{Class: protocol.WiFi, Key: 8})
		l = w.within(0, time.Minute)
		expectReported(t, l.resume(0, granted), 8, 0, 0)
		l.settle(240) // the search begins anew
		w.c.NetworkChanged(w.o.Network)
		expectReported(t, w.within(0, time.Minute).resume(0), homeKey, 240, 0)
	})
}

func TestSleepIsNoticed(t *testing.T) {
	var s sleep
	for _, tt := range []struct {
		wall, awake int // seconds since the start
		want        bool
	}{
		{10, 10, false},
		{305, 300, false}, // an alarm is never quite on time
		{940, 600, true},
		{950, 610, false}, // told once
		{900, 660, true},  // the clock was set back
	} {
		if got := s.noticed(time.Duration(tt.wall)*sec, time.Duration(tt.awake)*sec); got != tt.want {
			t.Errorf("after %d s, %d of them awake: %v", tt.wall, tt.awake, got)
		}
	}
}
