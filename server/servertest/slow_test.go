package servertest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// TestASlowReaderThatReadsStays: a phone on a narrow line that catches up takes what is written as fast as it can, and
// what waits for it in the node's memory never becomes less, because the node refills it. It is not stuck.
func TestASlowReaderThatReadsStays(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		bob.Ack(0)
		bob.Stall()
		payload := strings.Repeat("p", 1000)
		for i := range 400 {
			alice.Message("bob", fmt.Sprint(i), payload)
			alice.Ack(uint64(i + 1))
		}
		acked := uint64(0)
		for range 120 {
			bob.Read(2000)
			for _, f := range bob.Pending() {
				if p, ok := f.(*protocol.Push); ok {
					acked = p.Entries[len(p.Entries)-1].Pos
				}
			}
			bob.Ack(acked)
			if n.Counter(`lifeline_closes_total{reason="slow_consumer"}`) != 0 {
				t.Fatal("a client that reads was closed as one that does not")
			}
			if bob.Waiting() < 10<<10 {
				t.Fatalf("only %d bytes wait: the reader is not slow", bob.Waiting())
			}
			Idle(time.Second)
		}
		if acked < 200 {
			t.Fatalf("the slow reader got only to %d", acked)
		}
	})
}

// TestASocketThatTakesALargeFrameSlowlyStays: the same for one frame after another that takes longer than the node waits
// for a socket that takes nothing.
func TestASocketThatTakesALargeFrameSlowlyStays(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		bob.Ack(0)
		bob.Stall()
		alice.Message("bob", "small", "x")
		Idle(1500 * time.Millisecond)
		alice.Message("bob", "large", strings.Repeat("p", 30<<10))
		for range 50 {
			bob.Read(500)
			Idle(time.Second)
		}
		bob.Resume()
		synctest.Wait()
		if got := n.Counter(`lifeline_closes_total{reason="slow_consumer"}`); got != 0 {
			t.Fatal("a client that reads was closed as one that does not")
		}
	})
}

// TestAPhoneThatSleepsIsNotStuckSoSoon: in background a phone sleeps through more than half a minute with bytes waiting for
// it. It is kept as long as a silent one.
func TestAPhoneThatSleepsIsNotStuckSoSoon(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		alice, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone", Activity: protocol.Background})
		bob.Ack(0)
		bob.Stall()
		for i := range 4 {
			alice.Message("bob", fmt.Sprint(i), strings.Repeat("p", 20<<10))
		}
		stuck := func() int { return n.Counter(`lifeline_closes_total{reason="slow_consumer"}`) }
		for range 9 {
			Idle(time.Minute)
			bob.Send(&protocol.Ping{})
		}
		if stuck() != 0 {
			t.Fatal("a sleeping phone was closed before its hold of ten minutes")
		}
		for range 2 {
			Idle(time.Minute)
			bob.Send(&protocol.Ping{})
		}
		if stuck() != 1 {
			t.Fatal("its bytes wait for ever")
		}
		alice.Send(&protocol.Bye{})
		nothingLeft(t, n)
	})
}

// TestAFrameThatNeverEnds: a frame that comes a byte at a time holds memory that all connections share, so it has to end
// [P-1.11].
func TestAFrameThatNeverEnds(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		c, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		c.Write([]byte{0x80, 0xF0, 0x01, 0x0A, 0x01}) // 30,720 bytes of a Send
		began := time.Now()
		for range 4 {
			Idle(20 * time.Second)
			c.Write([]byte{0})
		}
		if n.Core.Sessions() != 1 {
			t.Fatalf("closed after %v", time.Since(began))
		}
		for range 3 {
			Idle(20 * time.Second)
			c.Write([]byte{0})
		}
		c.ExpectClose(protocol.CodeSilent)
		nothingLeft(t, n)
	})
}

// TestAFrameThatComesSlowlyIsTaken is the other side: a large message on a narrow line arrives.
func TestAFrameThatComesSlowlyIsTaken(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		c, _ := n.Login(0, Login{User: "alice", Device: "phone"})
		f := &protocol.Send{ID: 1, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte("c"), Payload: make([]byte, 30<<10)}
		for b := f.Append(nil); len(b) > 0; b = b[min(512, len(b)):] {
			c.Write(b[:min(512, len(b))])
			Idle(time.Second)
		}
		if ack := c.Sendack(); ack.Seq != 1 {
			t.Fatalf("got %s", ack.AppendText(nil))
		}
	})
}

// TestAnswersToABurstAreBounded: small frames have larger answers, and a client that sends many at once must not have the
// node build all of them.
func TestAnswersToABurstAreBounded(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		c, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		burst := []byte(strings.Repeat("\x01\x7f", 32<<10)) // an unknown type, 32,768 times
		c.Write(burst)
		c.ExpectEnd()
		if got := n.Counter(`lifeline_closes_total{reason="slow_consumer"}`); got != 1 {
			t.Fatalf("%d closes as slow consumer, want 1", got)
		}
		answer := (&protocol.Error{Status: protocol.CodeUnsupported.Status(), FrameType: 0x7f}).Append(nil)
		if built := n.Counter(`lifeline_refusals_total{code="unsupported"}`) * len(answer); built > 600<<10 {
			t.Fatalf("%d bytes of answers were built for one burst", built)
		}
		nothingLeft(t, n)
	})
}
