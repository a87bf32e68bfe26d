package client

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// What the app has handled is acknowledged before the goodbye, and Run ends when the server has read it [P-6.31].
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

// The token or the dial takes its time: both are told that nobody waits, and Run waits for them.
func TestLeaveDuringATry(t *testing.T) {
	forever := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, adjust := range map[string]func(w *world){
		"token": func(w *world) {
			w.o.Token = func(ctx context.Context, _ bool) ([]byte, error) { return nil, forever(ctx) }
		},
		"dial": func(w *world) {
			w.o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, forever(ctx) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, adjust, func(t *testing.T, w *world) {
				synctest.Wait()
				began := time.Now()
				w.c.Leave(protocol.ByeQuit)
				if err := w.result(); err != nil || time.Since(began) != 0 {
					t.Errorf("Run returned %v after %v", err, time.Since(began))
				}
			})
		})
	}
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
		w.c.NetworkLost()
		w.c.NetworkChanged(protocol.Network{Key: 3})
		w.c.Leave(protocol.ByeQuit)
		<-w.ended
		w.run()
		if f := w.at(0).resume(0); f.Activity != protocol.Background || f.Network.Key != 3 {
			t.Errorf("what was said between two runs is lost: %s", f.AppendText(nil))
		}
	})
}

// A handler asks for history or presence when Run ends: it is told that there will be none, and Run waits for it.
func TestHandlersThatAskAtTheEnd(t *testing.T) {
	for name, ask := range map[string]func(*Client) error{
		"pull":     func(c *Client) error { _, err := c.Pull(context.Background(), "team", 1, 2); return err },
		"presence": func(c *Client) error { _, err := c.Presence(context.Background(), []string{"bob"}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			var told error
			adjust := func(w *world) {
				w.o.OnMessage = func(Message) error { told = ask(w.c); return told }
			}
			play(t, adjust, func(t *testing.T, w *world) {
				l := w.at(0)
				l.begin(0)
				w.refuse(errNoRoute)
				l.send(push(1, "a"))
				l.drop()
				w.stop()
				if err := w.result(); !errors.Is(told, ErrStopped) {
					t.Errorf("the handler was told %v, and Run returned %v", told, err)
				}
			})
		})
	}
}

// A goodbye behind the end has nobody to say it to, and does not reach the next run.
func TestLeaveBehindTheEnd(t *testing.T) {
	var entered, release chan struct{}
	var states []State
	adjust := func(w *world) {
		entered, release, states = make(chan struct{}), make(chan struct{}), nil
		w.o.OnMessage = func(Message) error { close(entered); <-release; return nil }
		w.o.OnStatus = func(s Status) { w.note(func() { states = append(states, s.State) }) }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "a"))
		<-entered
		l.close(protocol.CodeDisplaced.Status())
		w.c.Leave(protocol.ByeLogout)
		w.c.NetworkLost()
		synctest.Wait()
		close(release)
		refusal(t, w.result(), protocol.CodeDisplaced)
		if want := []State{Connecting, Online, Stopped}; !slices.Equal(states, want) {
			t.Errorf("states %v, want %v", states, want)
		}
		w.c.NetworkChanged(protocol.Network{})
		<-w.ended
		w.run()
		w.at(0).resume(1)
	})
}

func TestLostNetworkDoesNotHideTheGoodbye(t *testing.T) {
	var release chan struct{}
	adjust := func(w *world) {
		release = make(chan struct{})
		w.o.OnMessage = func(Message) error { <-release; return nil }
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		l.send(push(1, "a"))
		l.drop()
		w.c.Leave(protocol.ByeQuit)
		w.c.NetworkLost()
		synctest.Wait()
		if s := w.c.Status(); s.State != Leaving {
			t.Errorf("state %v", s.State)
		}
		close(release)
		if err := w.result(); err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}
