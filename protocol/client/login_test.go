package client

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// [P-6.2], [P-6.7]
func TestFirstLoginIsAReset(t *testing.T) {
	inbox := new(MemoryInbox)
	adjust := func(w *world) {
		w.o.Inbox = inbox
		w.o.Platform, w.o.AppVersion, w.o.MaxBacklog = protocol.Android, "1.2", 5000
		w.o.Network = protocol.Network{Class: protocol.WiFi, Key: 9}
	}
	play(t, adjust, func(t *testing.T, w *world) {
		f := w.at(0).begin(7)
		if f.HasPos || len(f.Epoch) != 0 {
			t.Errorf("a first log-in claims a position: %s", f.AppendText(nil))
		}
		if f.Version != protocol.Version || string(f.Token) != "token 1" || string(f.Device) != "phone" || f.Instance == 0 ||
			f.Attempt != 1 || f.Platform != protocol.Android || string(f.AppVersion) != "1.2" || f.MaxBacklog != 5000 ||
			f.Activity != protocol.Foreground || f.Network.Class != protocol.WiFi || f.Network.Key != 9 ||
			f.MaxPayload != protocol.PayloadCeiling || f.PreviousClose != 0 || f.Duplicates != 0 {
			t.Errorf("Connect is %s", f.AppendText(nil))
		}
		if p, known, _ := inbox.Progress(); !known || p != (Progress{testEpoch, 7}) {
			t.Errorf("the inbox is at %v %v", p, known)
		}
		if len(w.resets) != 1 || w.resets[0].Progress != (Progress{testEpoch, 7}) {
			t.Errorf("OnReset was called with %v", w.resets)
		}
	})
}

func TestEmptyInboxIsAcknowledged(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "a"))
		l.expectAck(1)
		w.expectHandled("a")
	})
}

// Until the app has stored its conversations the device has no position: no Ack, and a reconnect says none [P-6.7].
func TestResetEndsWhenTheAppHasStoredTheList(t *testing.T) {
	var stored chan struct{}
	adjust := func(w *world) {
		stored = make(chan struct{})
		w.o.OnReset = func(context.Context, Reset) error { <-stored; return nil }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		expect[*protocol.Connect](l)
		l.send(connack(7, reset), push(8, "a"))
		l.quiet(time.Minute)
		l.drop()
		l = w.within(0, time.Minute)
		if f := expect[*protocol.Connect](l); f.HasPos {
			t.Fatalf("the client goes on at a position that it has not: %s", f.AppendText(nil))
		}
		l.send(connack(9, reset))
		l.drop()
		l = w.within(0, time.Minute)
		expect[*protocol.Connect](l)
		l.send(connack(11, reset)) // takes the place of the second, which has not begun
		stored <- struct{}{}       // of the first, which is worth nothing now
		l.quiet(time.Minute)
		w.expectHandled()
		stored <- struct{}{}
		l.expectAck(11)
		l.send(push(12, "b"))
		l.expectAck(12)
		w.expectHandled("b")
	})
}

// The server resets a device that had a position: until the list is stored the old one is worth nothing either.
func TestResetOfADeviceThatKnewItsPosition(t *testing.T) {
	var stored chan struct{}
	adjust := func(w *world) {
		stored = make(chan struct{})
		w.o.Inbox = &MemoryInbox{progress: Progress{testEpoch, 5}, known: true}
		w.o.OnReset = func(context.Context, Reset) error { <-stored; return nil }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		if f := expect[*protocol.Connect](l); f.Pos != 5 || !f.HasPos {
			t.Errorf("Connect is %s", f.AppendText(nil))
		}
		l.send(connack(900, reset, func(f *protocol.Connack) { f.Epoch[0]++ }))
		l.drop()
		l = w.within(0, time.Minute)
		if f := expect[*protocol.Connect](l); f.HasPos || len(f.Epoch) != 0 {
			t.Errorf("Connect is %s", f.AppendText(nil))
		}
		l.send(connack(901, reset))
		stored <- struct{}{}
		stored <- struct{}{}
		l.expectAck(901)
	})
}

func TestAppThatCannotStoreTheListStopsTheClient(t *testing.T) {
	full := errors.New("disk full")
	adjust := func(w *world) {
		w.o.OnReset = func(context.Context, Reset) error { return full }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		expect[*protocol.Connect](l)
		l.send(connack(7, reset))
		if err := w.result(); !errors.Is(err, full) {
			t.Errorf("Run returned %v", err)
		}
		l.expectEnd()
	})
}

// An answer to Connect that the client cannot rely on is no session [P-6.6].
func TestBadAnswersToConnect(t *testing.T) {
	known := &MemoryInbox{progress: Progress{testEpoch, 5}, known: true}
	for _, tt := range []struct {
		name   string
		answer protocol.Frame
	}{
		{"another start", connack(4)},
		{"another epoch", connack(5, func(f *protocol.Connack) { f.Epoch = make([]byte, 16) })},
		{"no epoch", connack(5, reset, func(f *protocol.Connack) { f.Epoch = nil })},
		{"another frame", &protocol.Pong{}},
		{"a client's frame", &protocol.Ping{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			adjust := func(w *world) { w.o.Inbox = known }
			play(t, adjust, func(t *testing.T, w *world) {
				l := w.at(0)
				expect[*protocol.Connect](l)
				l.send(tt.answer)
				l.expectEnd()
				w.within(0, time.Second).resume(5)
				if w.c.Status().State != Online {
					t.Error("the second answer was good")
				}
			})
		})
	}
}

// [P-1.5]: a Connect that every server would refuse is not sent, and no host is to blame. The app may do better next time.
func TestConnectThatIsTooLong(t *testing.T) {
	var short atomic.Bool
	adjust := func(w *world) {
		w.o.Token = func(context.Context, bool) ([]byte, error) {
			if !short.Load() {
				return make([]byte, protocol.MaxPreAuth), nil
			}
			return []byte("short"), nil
		}
	}
	play(t, adjust, func(t *testing.T, w *world) {
		w.nobody(500 * time.Millisecond)
		if cause := w.c.Status().Cause; !errors.Is(cause, errLongConnect) {
			t.Errorf("the cause is %v", cause)
		}
		short.Store(true)
		w.within(0, time.Minute).begin(0)
		if want := "tcp one:7400"; w.dialled[0] != want {
			t.Errorf("dialled %v, want %s", w.dialled, want)
		}
	})
}

func TestServerThatDoesNotAnswer(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		expect[*protocol.Connect](l)
		l.expectEnd()
		synctest.Wait()
		if cause := w.c.Status().Cause; cause == nil || !strings.Contains(cause.Error(), "did not answer") {
			t.Errorf("the cause is %v", cause)
		}
		l = w.within(0, 30*time.Second)
		f := expect[*protocol.Connect](l)
		if f.Attempt != 2 {
			t.Errorf("attempt %d, want 2", f.Attempt)
		}
	})
}

func TestOptionsAreValidated(t *testing.T) {
	_, err := New(Options{Servers: []string{"nowhere"}, Device: "a\nb", MaxOutbox: -1})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, fault := range []string{"nowhere", "device id", "Token", "MaxOutbox"} {
		if !strings.Contains(err.Error(), fault) {
			t.Errorf("%q is not reported in %v", fault, err)
		}
	}
	if _, err := New(Options{Device: "phone"}); err == nil || !strings.Contains(err.Error(), "no servers") {
		t.Errorf("without servers: %v", err)
	}
}

// The inbox belongs to the Run that goes on: the race detector sees it if a second one reads it.
func TestRunsOnceAtATime(t *testing.T) {
	play(t, func(w *world) { w.o.Inbox = &ownedInbox{t: w.t} }, func(t *testing.T, w *world) {
		w.at(0).begin(0)
		if err := w.c.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("a second Run: %v", err)
		}
		w.stop()
		synctest.Wait()
	})
}

// ownedInbox fails when its position is read behind the first commit.
type ownedInbox struct {
	MemoryInbox
	t     *testing.T
	begun bool
}

func (o *ownedInbox) Progress() (Progress, bool, error) {
	if o.begun {
		o.t.Error("the inbox of a client that runs was asked for its position")
	}
	return o.MemoryInbox.Progress()
}

func (o *ownedInbox) Reset(p Progress) error {
	o.begun = true
	return o.MemoryInbox.Reset(p)
}

func TestPositionThatCannotBeRead(t *testing.T) {
	broken := &brokenInbox{progress: errNoRoute}
	play(t, func(w *world) { w.o.Inbox = broken }, func(t *testing.T, w *world) {
		if err := w.result(); !errors.Is(err, errNoRoute) {
			t.Errorf("Run returned %v", err)
		}
		w.put("a")
		broken.progress = nil
		<-w.ended
		w.run()
		l := w.at(0)
		expect[*protocol.Connect](l)
		l.send(connack(0, reset))
		l.expectSends("a")
		l.expectAck(0)
	})
}

func TestNoNetworkAtTheStart(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		w.at(0).begin(0)
		w.stop()
		w.hangUp()
		_ = w.result()
		w.c.NetworkLost()
		<-w.ended
		w.run()
		w.nobody(time.Hour)
		if s := w.c.Status(); s.State != Waiting || !s.Next.IsZero() {
			t.Errorf("status %+v", s)
		}
		w.c.NetworkChanged(protocol.Network{})
		w.at(0).resume(0)
	})
}
