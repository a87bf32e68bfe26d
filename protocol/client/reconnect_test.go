package client

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

var errNoRoute = errors.New("no route")

// Random numbers are 0.5 in every script: the first try after a drop comes after 1 s, and full jitter is half [P-5.5].
func TestReconnectAfterADrop(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		first := l.begin(0)
		time.Sleep(time.Minute)
		l.drop()
		if s := w.c.Status(); s.State != Waiting || s.Cause == nil || time.Until(s.Next) != time.Second {
			t.Errorf("status %+v", s)
		}
		l = w.at(time.Second)
		second := l.resume(0)
		if second.Instance != first.Instance || second.Attempt != 2 {
			t.Errorf("the second Connect is %s", second.AppendText(nil))
		}
		l.drop()
		l = w.at(time.Second) // one failure: U(0, 2 s)
		expect[*protocol.Connect](l)
		l.drop()
		w.refuse(errNoRoute)
		time.Sleep(2500 * time.Millisecond) // two failures: U(0, 4 s)
		w.refuse(nil)
		w.at(3500 * time.Millisecond) // three failures: U(0, 8 s)
	})
}

// [P-5.1], [P-6.35]
func TestHintsOfAClose(t *testing.T) {
	for _, tt := range []struct {
		code     protocol.Code
		min, win uint32
		wait     time.Duration
	}{
		{protocol.CodeDraining, 4000, 10_000, 9 * time.Second},
		{protocol.CodeBusy, 500, 1000, time.Second},
		{protocol.CodeResync, 0, 0, 0},
		{999, 3_600_000, 0, 10 * time.Minute},
		{protocol.CodeSuperseded, 0, 0, time.Second},
	} {
		t.Run(tt.code.String(), func(t *testing.T) {
			play(t, nil, func(t *testing.T, w *world) {
				l := w.at(0)
				l.begin(0)
				status := tt.code.Status()
				if tt.code == 999 {
					status.Retry = protocol.RetryAfter
				}
				status.RetryMinMs, status.RetryWindowMs = tt.min, tt.win
				l.close(status)
				l = w.at(tt.wait)
				if f := l.resume(0); f.PreviousClose != tt.code {
					t.Errorf("the previous close is %v, want %v", f.PreviousClose, tt.code)
				}
				l.drop()
				l = w.within(0, time.Minute)
				if f := l.resume(0); f.PreviousClose != 0 {
					t.Errorf("after a drop the previous close is %v", f.PreviousClose)
				}
			})
		})
	}
}

// [P-6.35]: a refusal is a Close that was seen, and is told like one.
func TestRefusalOfConnect(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		expect[*protocol.Connect](l)
		status := protocol.CodeTooManyConnections.Status()
		status.RetryMinMs, status.RetryWindowMs = 7000, 0
		l.close(status)
		l = w.at(7 * time.Second)
		expect[*protocol.Connect](l)
		l.drop() // before Connack, and without a code
		l = w.within(0, time.Minute)
		if f := l.begin(0); f.PreviousClose != protocol.CodeTooManyConnections {
			t.Errorf("the previous close is %v", f.PreviousClose)
		}
		if want := []string{"tcp one:7400", "tcp two:443", "tcp one:7400"}; !slices.Equal(w.dialled, want) {
			t.Errorf("dialled %v, want %v: another address may have room", w.dialled, want)
		}
	})
}

// A code that only the user can answer ends Run; calling it again is what the user wants, so the process is a new
// instance to the server [P-6.4].
func TestStopUntilTheUserActs(t *testing.T) {
	for _, code := range []protocol.Code{protocol.CodeDisplaced, protocol.CodeBanned, protocol.CodeFrameTooSmall, protocol.CodeInvalidID} {
		t.Run(code.String(), func(t *testing.T) {
			play(t, nil, func(t *testing.T, w *world) {
				l := w.at(0)
				first := l.begin(0)
				l.close(code.Status())
				refusal(t, w.result(), code)
				w.nobody(time.Hour)
				if s := w.c.Status(); s.State != Stopped {
					t.Errorf("state %v", s.State)
				}
				w.put("a")
				<-w.ended
				w.run()
				l = w.at(0)
				if f := l.resume(0); f.Instance == first.Instance {
					t.Error("the user's own wish came from the same instance")
				}
				l.expectSends("a")
			})
		})
	}
}

// [P-6.34]
func TestHostsAreTriedInTurn(t *testing.T) {
	adjust := func(w *world) { w.refusing = errNoRoute }
	play(t, adjust, func(t *testing.T, w *world) {
		time.Sleep(600 * time.Millisecond) // one try at once, one after 0.5 s
		w.refuse(nil)
		l := w.at(900 * time.Millisecond)
		l.begin(0, func(f *protocol.Connack) { f.Hosts = named("three:7400 one:7400") })
		l.drop()
		l = w.within(0, time.Minute)
		expect[*protocol.Connect](l)
		l.drop() // before Connack: the next
		l = w.within(0, time.Minute)
		l.resume(0)
		l.close(protocol.CodeDraining.Status(), "four:7400")
		w.within(0, time.Minute).resume(0)
		want := []string{"tcp one:7400", "tcp two:443", "tcp one:7400", "tcp one:7400", "tcp two:443", "tcp four:7400"}
		if !slices.Equal(w.dialled, want) {
			t.Errorf("dialled %v, want %v", w.dialled, want)
		}
	})
}

// [P-5.5]
func TestNetworkChange(t *testing.T) {
	cellular := protocol.Network{Class: protocol.Cellular, Key: 4}
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		time.Sleep(time.Minute)
		w.c.NetworkChanged(cellular)
		l.expectEnd()
		l = w.at(0)
		if f := l.resume(0); f.Network != cellular {
			t.Errorf("Connect names %+v", f.Network)
		}
		w.c.NetworkChanged(cellular)
		l = w.at(5 * time.Second)
		expect[*protocol.Connect](l)
		w.c.NetworkChanged(cellular) // while it waits for Connack
		l.expectEnd()
		w.at(5 * time.Second).resume(0)
		w.expectArrivals("start", "network", "network")
	})
}

func TestNoNetwork(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		w.c.NetworkLost()
		l.send(push(1, "a")) // a connection may survive
		l.expectAck(1)
		l.drop()
		w.nobody(6 * time.Hour)
		if s := w.c.Status(); s.State != Waiting || !s.Next.IsZero() {
			t.Errorf("status %+v", s)
		}
		w.c.NetworkChanged(protocol.Network{})
		w.at(0).resume(1)
		w.expectArrivals("start", "network")
	})
}

// What the server asked for is not shortened, not even by the network [P-5.1].
func TestHintHoldsThroughANetworkChange(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		status := protocol.CodeDraining.Status()
		status.RetryMinMs, status.RetryWindowMs = 20_000, 0
		l.close(status)
		time.Sleep(5 * time.Second)
		w.c.NetworkChanged(protocol.Network{})
		w.c.SetActivity(protocol.Background)
		w.c.SetActivity(protocol.Foreground)
		w.at(15 * time.Second)
	})
}

func (w *world) expectArrivals(want ...string) {
	w.t.Helper()
	synctest.Wait()
	var got []string
	for _, a := range w.arrivals {
		got = append(got, a.Scene.String())
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("arrivals %v, want %v", got, want)
	}
}

func TestArrivalsMeasureTheWayBack(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		time.Sleep(time.Minute)
		w.refuse(errNoRoute)
		l.drop()
		time.Sleep(20 * time.Second)
		w.refuse(nil)
		w.c.SetActivity(protocol.Background)
		w.c.SetActivity(protocol.Foreground)
		l = w.within(0, time.Minute)
		expect[*protocol.Connect](l)
		time.Sleep(700 * time.Millisecond)
		l.send(connack(0))
		l.close(protocol.CodeBusy.Status())
		w.within(0, time.Minute).resume(0)
		w.expectArrivals("start", "foreground", "closed")
		if a := w.arrivals[1]; a.Took < 700*time.Millisecond || a.Took > 6*time.Second || a.Tries != 1 {
			t.Errorf("the way back took %v and %d tries", a.Took, a.Tries)
		}
	})
}
