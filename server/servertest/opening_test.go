package servertest

import (
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server"
)

// TestConnackSaysTheLimits: the largest frame follows the payload limit of the server [P-1.6], and what else the client must
// work with is told before it can break it.
func TestConnackSaysTheLimits(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1, func(o *server.CoreOptions) { o.MaxPayload, o.PushWindow = 1000, 7 })
		bob, hello := n.Login(0, Login{User: "bob", Device: "phone"})
		const maxFrame = 1000 + protocol.FrameOverhead
		want := protocol.Limits{MaxFrame: maxFrame, MaxPayload: 1000, UnansweredSends: 64, UnansweredRequests: 4, AckDelayMs: 200, AckEvery: 16}
		if hello.Limits != want || hello.PushWindow != 7 || hello.PushWindowBytes != 64<<10 {
			t.Errorf("got %s", hello.AppendText(nil))
		}
		largest := func(payload int) []byte {
			f := protocol.Send{ID: 1, To: protocol.ToUser, ToID: []byte("alice"), ClientID: []byte("c"), Payload: make([]byte, payload)}
			return f.Append(nil)
		}
		wire := largest(maxFrame)
		over := len(wire) - 2 - maxFrame // but for its length of two bytes
		bob.Write(largest(maxFrame - over))
		if a := bob.Sendack(); a.Status.Code != protocol.CodePayloadTooLarge {
			t.Errorf("a frame of %d bytes: %s", maxFrame, a.AppendText(nil))
		}
		bob.Write(largest(maxFrame - over + 1))
		bob.ExpectClose(protocol.CodeFrameTooLarge)
	})
}

// TestATokenThatIsNotCheckedInTime [P-6.1]: the ten seconds hold for the answer too, whoever is to blame.
func TestATokenThatIsNotCheckedInTime(t *testing.T) {
	script(t, func(t *testing.T) {
		var tokens gate
		n := Start(t, 1, func(o *server.CoreOptions) { o.Verifier = &tokens })
		open := tokens.shut()
		bob := n.Dial(0)
		bob.Send(Login{User: "bob", Device: "phone"}.Frame())
		wantTypes(t, "within ten seconds", silentFor(bob, 9*time.Second))
		bob.ExpectClose(protocol.CodeConnectTimeout)
		open()
		nothingLeft(t, n)
	})
}

// TestTimesAndPlaces [P-3.11]: milliseconds since 1970 by the server's clock, and the first of each log is 1.
func TestTimesAndPlaces(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		now := func() uint64 { return uint64(time.Now().UnixMilli()) }
		bob, hello := n.Login(0, Login{User: "bob", Device: "phone"})
		if hello.ServerTimeMs != now() || hello.Head != 0 {
			t.Errorf("at %d: %s", now(), hello.AppendText(nil))
		}
		Idle(1234 * time.Millisecond)
		ack := bob.Message("alice", "1", "x")
		if ack.TimeMs != now() || ack.Seq != 1 {
			t.Errorf("at %d: %s", now(), ack.AppendText(nil))
		}
		if e := bob.Push()[0]; e.Pos != 1 || e.Message.TimeMs != ack.TimeMs {
			t.Errorf("got %+v", e)
		}
	})
}

// TestNumbersThatNobodyKnows [P-3.2]: an enum's value without a name is unspecified, also where a byte of it has one.
func TestNumbersThatNobodyKnows(t *testing.T) {
	for _, unknown := range []int32{77, 256, 258, 259, -254, -1 << 31} {
		script(t, func(t *testing.T) {
			n := Start(t, 1)
			bob, hello := n.Login(0, Login{User: "bob", Device: "phone", Activity: protocol.Activity(unknown)})
			if h := hello.Heartbeat; h.IntervalS != 60 {
				t.Errorf("activity %d at the start: granted %+v", unknown, h)
			}
			bob.Send(&protocol.State{Activity: protocol.Background})
			bob.Send(&protocol.State{Activity: protocol.Activity(unknown)})
			Expect[*protocol.Pong](bob)
			if h := Expect[*protocol.Pong](bob).Heartbeat; h.IntervalS != 60 {
				t.Errorf("activity %d: granted %+v", unknown, h)
			}
			_, hello = n.Login(0, Login{User: "eve", Device: "phone", Activity: protocol.Background, Platform: protocol.Platform(unknown)})
			if h := hello.Heartbeat; h.IntervalS != 240 {
				t.Errorf("platform %d: granted %+v", unknown, h)
			}
		})
	}
}

// TestAClientThatTakesJustEnough [P-6.2]: what it takes must be the server's payload limit at least.
func TestAClientThatTakesJustEnough(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		for takes, want := range map[uint32]protocol.Type{
			protocol.DefaultMaxPayload: protocol.TypeConnack, protocol.DefaultMaxPayload - 1: protocol.TypeClose, 1<<32 - 1: protocol.TypeConnack,
		} {
			bob := n.Dial(0)
			f := Login{User: "bob", Device: "phone"}.Frame()
			f.MaxPayload = takes
			bob.Send(f)
			if got := bob.Next(); got.Type() != want {
				t.Errorf("one that takes %d: %s", takes, got.AppendText(nil))
			}
			bob.Close()
		}
	})
}

// TestIDsAreComparedByteByByte [P-3.7]: what looks the same is not.
func TestIDsAreComparedByteByByte(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		const one, two = "ren\u00e9", "rene\u0301"
		composed, _ := n.Login(0, Login{User: one, Device: "phone"})
		apart, _ := n.Login(0, Login{User: two, Device: "phone"})
		alice.Message(one, "1", "to the first")
		alice.Message(two, "2", "to the second")
		for c, want := range map[*Client]string{composed: "to the first", apart: "to the second"} {
			if got := c.Push(); len(got) != 1 || string(got[0].Message.Payload) != want {
				t.Errorf("got %+v, want %q", got, want)
			}
			if rest := silentFor(c, time.Second); len(rest) != 0 {
				t.Errorf("and %s", rest[0].AppendText(nil))
			}
		}
	})
}
