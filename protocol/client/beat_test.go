package client

import (
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

func every(seconds uint32) func(*protocol.Connack) {
	return func(f *protocol.Connack) { f.Heartbeat.IntervalS = seconds }
}

// [P-6.22], [P-6.24]
func TestPingsFollowTheGrantedHeartbeat(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, every(60))
		expectPing := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			if _, at := expectAt[*protocol.Ping](l); at.Sub(began) != want {
				t.Fatalf("a ping after %v, want %v", at.Sub(began), want)
			}
		}
		expectPing(30 * time.Second) // the first: anywhere in the interval
		l.send(&protocol.Pong{})
		expectPing(57 * time.Second)
		l.send(&protocol.Pong{Heartbeat: protocol.Heartbeat{IntervalS: 240}, HasHeartbeat: true})
		expectPing(228 * time.Second)
		l.send(&protocol.Pong{Head: 99})
		time.Sleep(100 * time.Second)
		l.send(push(1, "a"))
		l.expectAck(1)
		expectPing(228 * time.Second) // a frame sent puts it off
	})
}

// [P-6.22]: what will be acknowledged counts as said, also while the app takes its time.
func TestAPushPutsThePingOff(t *testing.T) {
	var release chan struct{}
	adjust := func(w *world) {
		release = make(chan struct{})
		w.o.OnMessage = func(Message) error { <-release; return nil }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, every(60))
		expect[*protocol.Ping](l)
		l.send(&protocol.Pong{})
		time.Sleep(40 * time.Second)
		l.send(push(1, "a"))
		l.quiet(56 * time.Second)
		expect[*protocol.Ping](l)
		close(release)
		l.expectAck(1)
	})
}

func TestLineThatDiesInSilenceIsReplaced(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, every(60))
		_, first := expectAt[*protocol.Ping](l)
		_, second := expectAt[*protocol.Ping](l)
		l.expectEnd()
		if second.Sub(first) != 5*time.Second || time.Since(second) != 7*time.Second {
			t.Errorf("pings %v apart, the end %v later", second.Sub(first), time.Since(second))
		}
		w.at(time.Second).resume(0)
	})
}

// A large frame trickles in: every byte proves the line, so nothing is given up.
func TestSlowLineIsNotDead(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, every(60))
		expect[*protocol.Ping](l)
		for _, b := range push(1, "a message that is on its way for minutes").Append(nil) {
			time.Sleep(4 * time.Second)
			if _, err := l.conn.Write([]byte{b}); err != nil {
				t.Fatalf("the client hung up: %v", err)
			}
		}
		l.send(&protocol.Pong{})
		l.expectAck(1)
	})
}

// [P-6.27]: at once, and an Echo that nobody asked for is no question.
func TestProbesAreAnswered(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(&protocol.Probe{}, &protocol.Echo{}, &protocol.Probe{})
		expect[*protocol.ProbeAck](l)
		expect[*protocol.ProbeAck](l)
		l.quiet(time.Hour)
	})
}

// [P-6.28]
func TestActivityIsTold(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0, every(60))
		w.c.SetActivity(protocol.Background)
		if f := expect[*protocol.State](l); f.Activity != protocol.Background {
			t.Errorf("the client sent %s", f.AppendText(nil))
		}
		l.send(&protocol.Pong{Heartbeat: protocol.Heartbeat{IntervalS: 240}, HasHeartbeat: true})
		w.c.SetActivity(protocol.Background)
		l.quiet(3 * time.Minute) // the same again is no news
		l.drop()
		w.c.SetActivity(protocol.Foreground)
		w.c.SetActivity(protocol.Background)
		l = w.at(0)
		f := expect[*protocol.Connect](l)
		w.c.SetActivity(protocol.Foreground) // while Connect is under way
		synctest.Wait()
		l.send(connack(0))
		if s := expect[*protocol.State](l); f.Activity == s.Activity || s.Activity != protocol.Foreground {
			t.Errorf("Connect said %v, State %v", f.Activity, s.Activity)
		}
	})
}

// A State that nobody answers is a dead line too [P-6.25].
func TestStateThatIsNotAnswered(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		w.c.SetActivity(protocol.Background)
		expect[*protocol.State](l)
		l.expectEnd()
	})
}

func TestBackgroundIsPatient(t *testing.T) {
	adjust := func(w *world) { w.o.Activity = protocol.Background }
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		if f := l.begin(0); f.Activity != protocol.Background {
			t.Errorf("Connect says %v", f.Activity)
		}
		l.drop()
		w.at(7500 * time.Millisecond) // U(0, 15 s)
	})
}

// An iOS app that was suspended for more than 30 s does not trust its connection.
func TestSuspendedApp(t *testing.T) {
	for _, tt := range []struct {
		platform  protocol.Platform
		suspended time.Duration
		replaced  bool
	}{
		{protocol.IOS, 31 * time.Second, true},
		{protocol.IOS, 30 * time.Second, false},
		{protocol.Android, time.Hour, false},
	} {
		play(t, func(w *world) { w.o.Platform = tt.platform }, func(t *testing.T, w *world) {
			l := w.at(0)
			l.begin(0)
			w.c.SetActivity(protocol.Suspending)
			expect[*protocol.State](l)
			l.send(&protocol.Pong{})
			time.Sleep(tt.suspended)
			w.c.SetActivity(protocol.Foreground)
			if tt.replaced {
				l.expectEnd()
				w.at(0).resume(0)
				w.expectArrivals("start", "foreground")
				return
			}
			expect[*protocol.State](l)
		})
	}
}
