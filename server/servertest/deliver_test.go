package servertest

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// script runs a test in virtual time.
func script(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// receive takes messages until n have come, checks that positions follow from+1, and acknowledges each Push.
func receive(t *testing.T, c *Client, from uint64, n int, ack bool) (payloads []string, last uint64) {
	t.Helper()
	last = from
	for len(payloads) < n {
		for _, e := range c.Push() {
			if e.Pos != last+1 {
				t.Fatalf("got position %d after %d", e.Pos, last)
			}
			last = e.Pos
			if e.Kind == protocol.EntryVoid {
				last = e.Void.To
				continue
			}
			payloads = append(payloads, string(e.Message.Payload))
		}
		if ack {
			c.Ack(last)
		}
	}
	return payloads, last
}

// [P-6.5], [P-6.11], [P-6.12]: positions and Seqs without a hole, and no more than the window.
func TestTwoDevicesOnTwoLoopsEachAtItsOwnPace(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		phone, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		desktop, _ := n.Login(1, Login{User: "bob", Device: "desktop"})
		phone.Ack(0)
		desktop.Ack(0)
		alice, _ := n.Login(1, Login{User: "alice", Device: "phone"})
		const total = 300
		for i := range total {
			if ack := alice.Message("bob", fmt.Sprintf("id-%d", i), fmt.Sprint(i)); ack.Status.Failed() || ack.Seq != uint64(i+1) {
				t.Fatalf("send %d: %s", i, ack.AppendText(nil))
			}
		}
		got, last := receive(t, phone, 0, total, true)
		check(t, got, total)
		if got, _ := receive(t, desktop, 0, 64, false); len(got) != 64 {
			t.Fatalf("the desktop got %d messages without an ack, want its window of 64", len(got))
		}
		synctest.Wait()
		if late := desktop.Pending(); len(late) != 0 {
			t.Fatalf("the desktop got %s beyond its window", late[0].AppendText(nil))
		}
		desktop.Ack(64)
		receive(t, desktop, 64, total-64, true)
		if last != total {
			t.Fatalf("the phone is at %d, want %d", last, total)
		}
	})
}

func check(t *testing.T, got []string, total int) {
	t.Helper()
	for i, p := range got {
		if p != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, p)
		}
	}
	if len(got) != total {
		t.Fatalf("got %d messages, want %d", len(got), total)
	}
}

func TestBacklogLargerThanTheWindowWithLiveMessages(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 2)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		for i := range 500 {
			alice.Message("bob", fmt.Sprintf("id-%d", i), fmt.Sprint(i))
		}
		bob, hello := n.Login(1, Login{User: "bob", Device: "phone", HasPos: true, Epoch: n.Mem.Epoch()})
		if hello.Reset || hello.Start != 0 || hello.Head != 500 {
			t.Fatalf("got %s", hello.AppendText(nil))
		}
		for i := 500; i < 560; i++ {
			alice.Post("bob", fmt.Sprintf("id-%d", i), fmt.Sprint(i))
		}
		got, last := receive(t, bob, 0, 300, true)
		for i := 560; i < 600; i++ {
			alice.Message("bob", fmt.Sprintf("id-%d", i), fmt.Sprint(i))
		}
		rest, _ := receive(t, bob, last, 600-len(got), true)
		check(t, append(got, rest...), 600)
	})
}

// [P-6.14]
func TestOriginGetsNoPayloadAndOwnDevicesTheClientID(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		phone, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		tablet, _ := n.Login(0, Login{User: "alice", Device: "tablet"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		phone.Message("bob", "the-id", "hello")
		own := phone.Push()[0].Message
		if own.HasPayload || string(own.ClientID) != "the-id" {
			t.Errorf("origin got %+v", own)
		}
		other := tablet.Push()[0].Message
		if string(other.Payload) != "hello" || string(other.ClientID) != "the-id" {
			t.Errorf("the sender's tablet got %+v", other)
		}
		theirs := bob.Push()[0].Message
		if string(theirs.Payload) != "hello" || len(theirs.ClientID) != 0 || string(theirs.SenderDevice) != "phone" {
			t.Errorf("the peer got %+v", theirs)
		}
	})
}

// [P-6.23]
func TestSilenceClosesAndPingsKeepAlive(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		quiet, hello := n.Login(0, Login{User: "quiet", Device: "phone"})
		lively, _ := n.Login(0, Login{User: "lively", Device: "phone"})
		if hello.Heartbeat.IntervalS != 60 || hello.Heartbeat.WindowS != 15 {
			t.Fatalf("granted %+v", hello.Heartbeat)
		}
		for range 4 {
			Idle(50 * time.Second)
			lively.Send(&protocol.Ping{})
			Expect[*protocol.Pong](lively)
		}
		quiet.ExpectClose(protocol.CodeSilent)
		if got := n.Core.Sessions(); got != 1 {
			t.Fatalf("%d sessions, want 1", got)
		}
	})
}
