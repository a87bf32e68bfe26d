package servertest

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/server/auth"
	"lifeline/store"
)

// [P-6.3]
func TestReconnectOfTheSameProcessSupersedes(t *testing.T) {
	for _, loops := range []struct {
		name     string
		old, new int
	}{{"same loop", 0, 0}, {"other loop", 0, 1}} {
		t.Run(loops.name, func(t *testing.T) {
			script(t, func(t *testing.T) {
				n := Start(t, 2)
				old, _ := n.Login(loops.old, Login{User: "bob", Device: "phone", Attempt: 1})
				fresh, _ := n.Login(loops.new, Login{User: "bob", Device: "phone", Attempt: 2})
				old.ExpectClose(protocol.CodeSuperseded)
				alive(t, n, fresh)
			})
		})
	}
}

// [P-6.3]
func TestAnOlderAttemptThatComesLaterLoses(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		fresh, _ := n.Login(0, Login{User: "bob", Device: "phone", Attempt: 2})
		late := n.Dial(1)
		late.Send(Login{User: "bob", Device: "phone", Attempt: 1}.Frame())
		late.ExpectClose(protocol.CodeSuperseded)
		alive(t, n, fresh)
	})
}

// [P-6.3], [P-6.4]
func TestAnotherProcessDisplacesAndTheLoserStaysAway(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		old, _ := n.Login(0, Login{User: "bob", Device: "phone", Instance: 7, Attempt: 9})
		fresh, _ := n.Login(1, Login{User: "bob", Device: "phone", Instance: 8, Attempt: 1})
		old.ExpectClose(protocol.CodeDisplaced)
		if retry := protocol.CodeDisplaced.Retry(); retry != protocol.RetryStop {
			t.Fatalf("DISPLACED says %v", retry)
		}
		again := n.Dial(0)
		again.Send(Login{User: "bob", Device: "phone", Instance: 7, Attempt: 10}.Frame())
		again.ExpectClose(protocol.CodeDisplaced)
		alive(t, n, fresh)

		Idle(61 * time.Second)
		user, _ := n.Login(0, Login{User: "bob", Device: "phone", Instance: 9}) // the user opened the app again
		alive(t, n, user)
	})
}

// alive checks that the client gets what is sent to bob, and is bob's only session.
func alive(t *testing.T, n *Node, bob *Client) {
	t.Helper()
	synctest.Wait()
	if got := n.Core.Sessions(); got != 1 {
		t.Fatalf("%d sessions, want 1", got)
	}
	alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
	alice.Message("bob", fmt.Sprint(time.Now().UnixNano()), "are you there?")
	if e := bob.Push()[0]; string(e.Message.Payload) != "are you there?" {
		t.Fatalf("got %+v", e)
	}
	alice.Send(&protocol.Bye{})
	alice.ExpectClose(protocol.CodeBye)
}

func TestACloseAfterTheReconnectRemovesNothing(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		old, _ := n.Login(0, Login{User: "bob", Device: "phone", Attempt: 1})
		old.Stall() // the Close that says SUPERSEDED cannot be read, so the socket lingers
		fresh, _ := n.Login(0, Login{User: "bob", Device: "phone", Attempt: 2})
		synctest.Wait()
		old.Close()
		alive(t, n, fresh)
		Idle(5 * time.Second)
		alive(t, n, fresh)
	})
}

func TestOneLiveSessionWhateverTheOrder(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 4)
		for round := range 200 {
			user := fmt.Sprintf("user-%d", round)
			racing := []*Client{n.Dial(round % 4), n.Dial((round + 1) % 4), n.Dial((round + round/4) % 4)}
			resume := n.Pause(round % 4)
			for i, c := range racing {
				go c.Send(Login{User: user, Device: "phone", Instance: uint64(1 + i%2), Attempt: uint64(i)}.Frame())
			}
			synctest.Wait()
			resume()
			synctest.Wait()
			Idle(5 * time.Second)
			if got := n.Core.Sessions(); got != 1 {
				t.Fatalf("round %d: %d sessions, want 1", round, got)
			}
			for _, c := range racing {
				c.Close()
			}
			synctest.Wait()
			if got := n.Core.Sessions(); got != 0 {
				t.Fatalf("round %d: %d sessions after all have gone", round, got)
			}
		}
	})
}

// Three claims that beat one another in a circle: A's newer socket, B, and A's older socket whose Connect comes last.
// Exactly one must stay, in whatever order the three loops install their session and then hear of the others.
func TestClaimsInACircleLeaveOne(t *testing.T) {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, installed := range orders {
		for _, heard := range orders {
			script(t, func(t *testing.T) {
				gate := make(gatedVerifier)
				n := Start(t, 3, func(o *server.CoreOptions) { o.Verifier = gate })
				for loop, login := range []Login{{Instance: 1, Attempt: 2}, {Instance: 2, Attempt: 1}, {Instance: 1, Attempt: 1}} {
					login.User, login.Device = "bob", "phone"
					n.Dial(loop).Send(login.Frame())
				}
				pauseAll := func() (resume []func()) {
					for loop := range 3 {
						resume = append(resume, n.Pause(loop))
					}
					return resume
				}
				resumeIn := func(resume []func(), order []int) {
					for _, loop := range order {
						resume[loop]()
						synctest.Wait()
					}
				}
				install := pauseAll()
				close(gate) // the tokens are good: each loop's session waits behind its pause
				synctest.Wait()
				hear := pauseAll()
				resumeIn(install, installed)
				resumeIn(hear, heard)
				Idle(5 * time.Second)
				if got := n.Core.Sessions(); got != 1 {
					t.Errorf("installed %v, heard %v: %d sessions are left, want 1", installed, heard, got)
				}
			})
		}
	}
}

// gatedVerifier answers nothing before it is closed.
type gatedVerifier chan struct{}

// Verify implements auth.Verifier.
func (g gatedVerifier) Verify(token []byte, now time.Time) (auth.Identity, error) {
	<-g
	return auth.Development{}.Verify(token, now)
}

// [P-6.6]
func TestARestoredPhoneGetsEverythingAgain(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, hello := n.Login(0, Login{User: "bob", Device: "phone"})
		if !hello.Reset || hello.Start != 0 {
			t.Fatalf("a first login got %s", hello.AppendText(nil))
		}
		bob.Ack(0)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		for i := range 40 {
			alice.Message("bob", fmt.Sprintf("id-%d", i), fmt.Sprint(i))
		}
		receive(t, bob, 0, 40, true)
		Idle(2 * time.Second)
		bob.Close()
		if s, err := n.Mem.Start("bob", "phone"); err != nil || s.Cursor != 40 {
			t.Fatalf("the cursor is %+v, %v", s, err)
		}
		restored, hello := n.Login(0, Login{User: "bob", Device: "phone", HasPos: true, Pos: 10, Epoch: n.Mem.Epoch()})
		if hello.Reset || hello.Start != 10 {
			t.Fatalf("the restored phone got %s", hello.AppendText(nil))
		}
		got, _ := receive(t, restored, 10, 30, true)
		if got[0] != "10" {
			t.Fatalf("begins with %q", got[0])
		}
		Idle(2 * time.Second)
		if s, _ := n.Mem.Start("bob", "phone"); s.Cursor != 40 {
			t.Fatalf("the stored cursor stepped back to %d", s.Cursor)
		}
	})
}

// [P-6.6], [P-6.7]
func TestFirstLoginAndReset(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		for i := range 20 {
			alice.Message("bob", fmt.Sprintf("id-%d", i), fmt.Sprint(i))
		}
		epoch, other := n.Mem.Epoch(), store.Epoch{1}
		n.Mem.Trim("bob", 5)
		for _, tt := range []struct {
			name  string
			login Login
			reset bool
			start uint64
		}{
			{"no position", Login{}, true, 20},
			{"another epoch", Login{HasPos: true, Pos: 10, Epoch: other}, true, 20},
			{"ahead of the head", Login{HasPos: true, Pos: 21, Epoch: epoch}, true, 20},
			{"below what is trimmed", Login{HasPos: true, Pos: 4, Epoch: epoch}, true, 20},
			{"at what is trimmed", Login{HasPos: true, Pos: 5, Epoch: epoch}, false, 5},
			{"at the head", Login{HasPos: true, Pos: 20, Epoch: epoch}, false, 20},
			{"more behind than it takes", Login{HasPos: true, Pos: 9, Epoch: epoch, MaxBacklog: 10}, true, 20},
			{"as far behind as it takes", Login{HasPos: true, Pos: 10, Epoch: epoch, MaxBacklog: 10}, false, 10},
		} {
			login := tt.login
			login.User, login.Device = "bob", "phone-"+tt.name[:5]
			c, hello := n.Login(0, login)
			if hello.Reset != tt.reset || hello.Start != tt.start || hello.Head != 20 {
				t.Errorf("%s: got %s", tt.name, hello.AppendText(nil))
			}
			c.Send(&protocol.Bye{})
			c.ExpectClose(protocol.CodeBye)
		}
	})
}

// [P-6.7]
func TestResetMakesNoCursorBeforeItsAck(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		alice.Message("bob", "1", "before")
		bob, hello := n.Login(0, Login{User: "bob", Device: "phone"})
		if !hello.Reset || hello.Start != 1 {
			t.Fatalf("got %s", hello.AppendText(nil))
		}
		alice.Message("bob", "2", "after")
		if e := bob.Push()[0]; e.Pos != 2 || string(e.Message.Payload) != "after" {
			t.Fatalf("pushes above the head flow at once: got %+v", e)
		}
		bob.Close()
		synctest.Wait()
		if s, _ := n.Mem.Start("bob", "phone"); s.HasCursor {
			t.Fatalf("a cursor exists: %+v", s)
		}
		bob, hello = n.Login(0, Login{User: "bob", Device: "phone"})
		bob.Ack(hello.Start)
		Idle(time.Second)
		if s, _ := n.Mem.Start("bob", "phone"); !s.HasCursor || s.Cursor != 2 {
			t.Fatalf("after the first ack: %+v", s)
		}
	})
}

// [P-6.31]
func TestLogoutForgetsTheCursorAndByeKeepsIt(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		for _, reason := range []protocol.ByeReason{protocol.ByeQuit, protocol.ByeLogout} {
			bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
			bob.Ack(0)
			bob.Send(&protocol.Bye{Reason: reason})
			bob.ExpectEnd()
			Idle(3 * time.Second)
			if s, _ := n.Mem.Start("bob", "phone"); s.HasCursor != (reason == protocol.ByeQuit) {
				t.Errorf("after %v: %+v", reason, s)
			}
		}
	})
}

func TestTokens(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		c := n.Dial(0)
		c.Send(Login{User: "bob", Device: "phone", Token: "forged"}.Frame())
		c.ExpectClose(protocol.CodeBadToken)
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		bob.Send(&protocol.Reauth{ID: 1, Token: []byte("dev:bob")})
		if r := Expect[*protocol.Result](bob); r.ID != 1 || r.Status.Failed() {
			t.Errorf("got %s", r.AppendText(nil))
		}
		bob.Send(&protocol.Reauth{ID: 2, Token: []byte("dev:mallory")})
		if r := Expect[*protocol.Result](bob); r.ID != 2 || r.Status.Code != protocol.CodeBadToken {
			t.Errorf("another user's token got %s", r.AppendText(nil))
		}
		alive(t, n, bob)
	})
}

// [P-6.24], [P-6.28]
func TestStateGrantsTheHeartbeatOfItsActivity(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		bob.Send(&protocol.State{Activity: protocol.Background})
		if h := Expect[*protocol.Pong](bob).Heartbeat; h.IntervalS != 240 || h.Activity != protocol.Background {
			t.Fatalf("got %+v", h)
		}
		Idle(250 * time.Second) // beyond the foreground's limit: the larger one counts from the Pong
		bob.Send(&protocol.State{Activity: protocol.Foreground})
		if h := Expect[*protocol.Pong](bob).Heartbeat; h.IntervalS != 60 {
			t.Fatalf("got %+v", h)
		}
		Idle(200 * time.Second) // the smaller one counts only from the next frame
		bob.Send(&protocol.Ping{})
		if Expect[*protocol.Pong](bob).HasHeartbeat {
			t.Fatal("a Pong repeats the heartbeat although it has not changed")
		}
		Idle(80 * time.Second)
		bob.ExpectClose(protocol.CodeSilent)
	})
}

// [P-6.3]
func TestASecondPhoneReplacesTheFirstWhereOneIsAllowed(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2, func(o *server.CoreOptions) { o.ExclusivePlatform = true })
		first, _ := n.Login(0, Login{User: "bob", Device: "old-phone", Platform: protocol.IOS, Instance: 1})
		desktop, _ := n.Login(1, Login{User: "bob", Device: "desktop", Platform: protocol.Desktop, Instance: 2})
		n.Login(1, Login{User: "bob", Device: "new-phone", Platform: protocol.IOS, Instance: 3})
		first.ExpectClose(protocol.CodeDisplaced)
		n.Login(0, Login{User: "bob", Device: "something", Instance: 4})
		n.Login(0, Login{User: "bob", Device: "something-else", Instance: 5})
		synctest.Wait()
		if got := n.Core.Sessions(); got != 4 {
			t.Errorf("%d sessions, want the new phone, the desktop and two that say no platform", got)
		}
		desktop.Send(&protocol.Ping{})
		Expect[*protocol.Pong](desktop)
	})
}

// lasting accepts development tokens that end at a given time.
type lasting time.Time

// Verify implements auth.Verifier.
func (l lasting) Verify(token []byte, now time.Time) (auth.Identity, error) {
	id, err := auth.Development{}.Verify(token, now)
	id.Expiry = time.Time(l)
	return id, err
}

// TestTokensThatLastForLong: the loop's clock is small, and a token may end after the clock does.
func TestTokensThatLastForLong(t *testing.T) {
	const years = 365 * 24 * time.Hour
	for _, expiry := range []time.Time{
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add((1<<32-100)*time.Second/10 + 20*time.Second), // past the clock's end
		time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(290 * years),
	} {
		t.Run(expiry.Format(time.DateOnly), func(t *testing.T) {
			script(t, func(t *testing.T) {
				n := Start(t, 1, func(o *server.CoreOptions) { o.Verifier = lasting(expiry) })
				bob, hello := n.Login(0, Login{User: "bob", Device: "phone"})
				if hello.TokenExpiryMs != uint64(expiry.UnixMilli()) {
					t.Errorf("the token is said to end at %d", hello.TokenExpiryMs)
				}
				for range 4 {
					Idle(30 * time.Second)
					bob.Send(&protocol.Ping{})
					Expect[*protocol.Pong](bob)
				}
			})
		})
	}
}
