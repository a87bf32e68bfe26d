package client

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// What the app has handled is acknowledged before the goodbye, and Run ends when the server has read it.
func TestLeave(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "a", "b"))
		w.c.Leave(protocol.ByeQuit)
		l.expectAck(2)
		if f := expect[*protocol.Bye](l); f.Reason != protocol.ByeQuit {
			t.Errorf("the client sent %s", f.AppendText(nil))
		}
		if s := w.c.Status(); s.State != Leaving {
			t.Errorf("state %v", s.State)
		}
		l.send(&protocol.Close{Status: protocol.CodeBye.Status()})
		if err := w.result(); err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

func TestEndOfTheContextIsAGoodbye(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		w.stop()
		expect[*protocol.Bye](l)
		began := time.Now()
		if err := w.result(); err != nil || time.Since(began) > leaveWithin {
			t.Errorf("Run returned %v after %v", err, time.Since(began))
		}
	})
}

// The message in hand is finished and acknowledged; those behind it come again.
func TestLeaveBetweenTwoMessages(t *testing.T) {
	var entered, release chan struct{}
	adjust := func(w *world) {
		entered, release = make(chan struct{}), make(chan struct{})
		w.o.OnMessage = func(m Message) error { entered <- struct{}{}; <-release; return w.message(m) }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "a", "b", "c"))
		<-entered
		w.c.Leave(protocol.ByeQuit)
		synctest.Wait()
		l.send(push(4, "d"))
		l.quiet(time.Second)
		release <- struct{}{}
		l.expectAck(1)
		expect[*protocol.Bye](l)
		w.expectHandled("a")
	})
}

func TestLogout(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		w.c.Leave(protocol.ByeLogout)
		if f := expect[*protocol.Bye](l); f.Reason != protocol.ByeLogout {
			t.Errorf("the client sent %s", f.AppendText(nil))
		}
		l.close(protocol.CodeLoggedOut.Status())
		if err := w.result(); err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// The context ends right behind a logout: it is a logout.
func TestLogoutWinsOverTheEndOfTheContext(t *testing.T) {
	for range 20 { // the runtime chooses by chance between two things that are ready
		play(t, nil, func(t *testing.T, w *world) {
			l := w.at(0)
			l.begin(0)
			w.c.Leave(protocol.ByeLogout)
			w.stop()
			if f := expect[*protocol.Bye](l); f.Reason != protocol.ByeLogout {
				t.Errorf("the client sent %s", f.AppendText(nil))
			}
		})
	}
}

func TestLogoutThatTheServerDoesNotHear(t *testing.T) {
	for name, lose := range map[string]func(*line){"drop": (*line).drop, "silence": func(*line) {}} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(t *testing.T, w *world) {
				l := w.at(0)
				l.begin(0)
				w.c.Leave(protocol.ByeLogout)
				expect[*protocol.Bye](l)
				lose(l)
				if err := w.result(); !errors.Is(err, errUntold) {
					t.Errorf("Run returned %v", err)
				}
			})
		})
	}
}

func TestLeaveWithoutAConnection(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		expect[*protocol.Connect](l) // a try is under way
		w.c.Leave(protocol.ByeQuit)
		if err := w.result(); err != nil {
			t.Errorf("Run returned %v", err)
		}
		l.expectEnd()
	})
}

func TestNothingIsLeftBehind(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		w.stop()
		expect[*protocol.Bye](l)
		l.drop()
		if err := w.result(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.c.Pull(t.Context(), "team", 1, 2); !errors.Is(err, ErrStopped) {
			t.Errorf("a pull behind the end: %v", err)
		}
		w.c.SetActivity(protocol.Background)
		w.c.NetworkChanged(protocol.Network{Key: 3})
		w.c.NetworkLost()
		w.c.Leave(protocol.ByeQuit)
		<-w.ended
		w.run()
		if f := w.at(0).resume(0); f.Activity != protocol.Background || f.Network.Key != 3 {
			t.Errorf("what was said between two runs is lost: %s", f.AppendText(nil))
		}
	})
}
