package servertest

import (
	"slices"
	"testing"
	"time"

	"lifeline/protocol"
)

// TestTrialsHaveABudget: twelve at once, and another one every two hours.
func TestTrialsHaveABudget(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone", Activity: protocol.Background})
		granted := func() bool {
			bob.Send(&protocol.Ping{EchoAfterS: 100})
			pong := Expect[*protocol.Pong](bob)
			if pong.HasHeartbeat && pong.Heartbeat.EchoLimitS != 0 {
				t.Fatalf("a refusal with a limit: %s", pong.AppendText(nil))
			}
			return !pong.HasHeartbeat
		}
		for i := range 12 {
			if !granted() {
				t.Fatalf("trial %d was refused", i+1)
			}
		}
		if granted() {
			t.Fatal("a thirteenth trial at once was granted")
		}
		for began := time.Now(); time.Since(began) <= 2*time.Hour; Idle(4 * time.Minute) {
			bob.Send(&protocol.ProbeAck{})
		}
		if !granted() || granted() {
			t.Error("two hours later none was granted, or two")
		}
	})
}

// TestFramesEndATrial [P-6.26]: what the client sends does, whatever it is, and the limit falls back to the heartbeat's.
func TestFramesEndATrial(t *testing.T) {
	for _, f := range []protocol.Frame{&protocol.ProbeAck{}, &protocol.Ack{HasPos: true}, &protocol.State{Activity: protocol.Background}, &protocol.Ping{}} {
		script(t, func(t *testing.T) {
			n := Start(t, 1)
			bob, _ := n.Login(0, Login{User: "bob", Device: "phone", Activity: protocol.Background})
			bob.Send(&protocol.Ping{EchoAfterS: 300})
			wantTypes(t, "a trial begins", silentFor(bob, 100*time.Second), protocol.TypePong)
			bob.Send(f)
			for _, answer := range silentFor(bob, 263*time.Second) {
				if answer.Type() != protocol.TypePong {
					t.Errorf("%v was followed by %s", f.Type(), answer.AppendText(nil))
				}
			}
			wantTypes(t, "past the heartbeat's limit", silentFor(bob, 3*time.Second), protocol.TypeProbe)
		})
	}
}

// TestWhenAHeartbeatCounts [P-6.24]: a larger one when it is written, a smaller one with the next frame of the client, which
// may not have read of it before.
func TestWhenAHeartbeatCounts(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from, to protocol.Activity
		again    bool          // the client sends another frame
		limit    time.Duration // of its silence
	}{
		{"larger", protocol.Foreground, protocol.Background, false, 264 * time.Second},
		{"smaller, and the answer may be lost", protocol.Background, protocol.Foreground, false, 264 * time.Second},
		{"smaller", protocol.Background, protocol.Foreground, true, 75 * time.Second},
	} {
		script(t, func(t *testing.T) {
			n := Start(t, 1)
			bob, _ := n.Login(0, Login{User: "bob", Device: "phone", Activity: tt.from})
			bob.Send(&protocol.State{Activity: tt.to})
			if h := Expect[*protocol.Pong](bob).Heartbeat; h.Activity != tt.to {
				t.Fatalf("%s: granted %+v", tt.name, h)
			}
			if tt.again {
				bob.Send(&protocol.ProbeAck{})
			}
			wantTypes(t, tt.name+", within the limit", silentFor(bob, tt.limit-time.Second))
			wantTypes(t, tt.name+", past it", silentFor(bob, 3*time.Second), protocol.TypeProbe)
		})
	}
}

// TestEveryQuestionHasItsPong [P-6.25]: one each, in their order, also when they come in one piece.
func TestEveryQuestionHasItsPong(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		var all []byte
		for _, f := range []protocol.Frame{&protocol.Ping{}, &protocol.State{Activity: protocol.Background}, &protocol.Ping{},
			&protocol.State{Activity: protocol.Foreground}, &protocol.Ping{EchoAfterS: 100}} {
			all = f.Append(all)
		}
		bob.Write(all)
		var got []protocol.Heartbeat
		for range 5 {
			got = append(got, Expect[*protocol.Pong](bob).Heartbeat)
		}
		want := []protocol.Heartbeat{{}, {IntervalS: 240, WindowS: 24, EchoLimitS: 900, Activity: protocol.Background}, {},
			{IntervalS: 60, WindowS: 15, Activity: protocol.Foreground}, {IntervalS: 60, WindowS: 15, Activity: protocol.Foreground}}
		if !slices.Equal(got, want) {
			t.Errorf("granted %+v, want %+v", got, want)
		}
		if rest := silentFor(bob, time.Second); len(rest) != 0 {
			t.Errorf("%d frames more", len(rest))
		}
	})
}

// TestOtherFramesForgivePings [P-6.29].
func TestOtherFramesForgivePings(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone", Activity: protocol.Background})
		for range 5 {
			for range 20 {
				bob.Send(&protocol.Ping{})
				Expect[*protocol.Pong](bob)
			}
			bob.Send(&protocol.ProbeAck{})
		}
		for range 20 {
			bob.Send(&protocol.Ping{})
		}
		bob.Send(&protocol.Ping{})
		bob.ExpectClose(protocol.CodeTooManyPings)
	})
}

// TestAnEchoIsNotLateForAStandstill: the phone would take it for its network's fault. Loops stand still here more often than
// they run for two seconds.
func TestAnEchoIsNotLateForAStandstill(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone", Activity: protocol.Background})
		bob.Send(&protocol.Ping{EchoAfterS: 100})
		Expect[*protocol.Pong](bob)
		asked := time.Now()
		Idle(95 * time.Second)
		for len(bob.Pending()) == 0 {
			if time.Since(asked) > 112*time.Second {
				t.Fatal("no Echo twelve seconds after it was due")
			}
			resume := n.Pause(0)
			Idle(400 * time.Millisecond)
			resume()
			Idle(600 * time.Millisecond)
		}
	})
}
