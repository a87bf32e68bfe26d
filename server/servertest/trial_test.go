package servertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/protocol/client"
)

// phone is the reference client in a pocket, and what it has sent and received.
type phone struct {
	t   *testing.T
	net *network

	mu       sync.Mutex
	tried    []int              // seconds of silence. Guarded by mu.
	askedAt  time.Time          // the last trial. Guarded by mu.
	connects []protocol.Network // as Connect reported them. Guarded by mu.
	beat     protocol.Heartbeat // last one granted. Guarded by mu.
	pings    int                // Guarded by mu.
	got      []string           // payloads. Guarded by mu.
}

// pocket runs a script with a phone in background on a network of its own.
func pocket(t *testing.T, bears time.Duration, strict bool, play func(p *phone)) {
	t.Helper()
	script(t, func(t *testing.T) {
		p := &phone{t: t, net: &network{n: Start(t, 2), bears: bears, strict: strict}}
		c, err := client.New(client.Options{
			Servers: []string{"node:7400"}, Device: "phone", Platform: protocol.Android, Activity: protocol.Background,
			Network: protocol.Network{Class: protocol.WiFi, Key: 7},
			Token:   func(context.Context, bool) ([]byte, error) { return []byte("dev:bob"), nil },
			Dial:    p.net.dial, Trace: p.trace,
			OnMessage: func(m client.Message) error {
				p.note(func() { p.got = append(p.got, string(m.Payload)) })
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the client ended: %v", err)
			}
			p.net.carriers.Wait()
		}()
		play(p)
	})
}

// send has alice come, write and go.
func (p *phone) send(texts ...string) {
	p.t.Helper()
	alice, _ := p.net.n.Login(0, Login{User: "alice", Device: "desk"})
	for _, text := range texts {
		alice.Message("bob", text, text)
	}
	alice.Send(&protocol.Bye{})
	alice.ExpectClose(protocol.CodeBye)
}

func (p *phone) note(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *phone) trace(_ bool, f protocol.Frame) {
	p.note(func() {
		switch f := f.(type) {
		case *protocol.Connect:
			p.connects = append(p.connects, f.Network)
		case *protocol.Connack:
			p.beat = f.Heartbeat
		case *protocol.Pong:
			if f.HasHeartbeat {
				p.beat = f.Heartbeat
			}
		case *protocol.Ping:
			p.pings++
			if f.EchoAfterS > 0 {
				p.tried, p.askedAt = append(p.tried, int(f.EchoAfterS)), time.Now()
			}
		}
	})
}

// asks waits until the nth trial is asked for, and returns when it was.
func (p *phone) asks(nth int) (at time.Time) {
	p.t.Helper()
	for began := time.Now(); ; Idle(time.Second) {
		n := 0
		p.note(func() { n, at = len(p.tried), p.askedAt })
		if n >= nth {
			return at
		}
		if time.Since(began) > 3*time.Hour {
			p.t.Fatalf("no trial %d in three hours", nth)
		}
	}
}

func (p *phone) expectTried(want ...int) {
	p.t.Helper()
	p.note(func() {
		if !slices.Equal(p.tried, want) {
			p.t.Errorf("tried %v, want %v", p.tried, want)
		}
	})
}

// expectBeat checks what both ends go by.
func (p *phone) expectBeat(want time.Duration) {
	p.t.Helper()
	synctest.Wait()
	if got := p.net.interval(p.t); got != want {
		p.t.Errorf("the node goes by a heartbeat of %v, want %v", got, want)
	}
	p.note(func() {
		if got := time.Duration(p.beat.IntervalS) * time.Second; got != want {
			p.t.Errorf("the phone was granted %v, want %v", got, want)
		}
	})
}

func (p *phone) expectCounts(want map[string]int) {
	p.t.Helper()
	for name, want := range want {
		if got := p.net.n.Counter(name); got != want {
			p.t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

const (
	probings    = `lifeline_paths_total{state="probing"}`
	suspects    = `lifeline_paths_total{state="suspect"}`
	silences    = `lifeline_closes_total{reason="silent"}`
	supersedes  = `lifeline_closes_total{reason="superseded"}`
	leakedTotal = "lifeline_leaked_sessions_total"
)

// TestAClientGrowsItsHeartbeat: on a network that bears everything the phone tries ever longer silences, the node honours
// each, and the heartbeat follows. In the whole search the node never doubts the line.
func TestAClientGrowsItsHeartbeat(t *testing.T) {
	pocket(t, 2*time.Hour, false, func(p *phone) {
		for i, want := range []time.Duration{240, 216, 324, 486, 727} {
			p.asks(i + 1)
			p.expectBeat(want * time.Second)
		}
		Idle(20 * time.Minute)
		p.expectTried(240, 360, 540, 810, 900)
		p.expectBeat(810 * time.Second)
		p.expectCounts(map[string]int{probings: 0, silences: 0, supersedes: 0, leakedTotal: 0})
		before := 0
		p.note(func() { before = p.pings })
		Idle(3 * time.Hour)
		p.note(func() {
			if n := p.pings - before; n < 13 || n > 15 {
				t.Errorf("%d pings in three hours of a heartbeat of 810 s", n)
			}
		})
		p.expectCounts(map[string]int{probings: 0, silences: 0})
		p.send("at once")
		synctest.Wait()
		p.expectGot("at once")
		if p.net.dials() != 1 {
			t.Errorf("%d connections", p.net.dials())
		}
	})
}

func (p *phone) expectGot(want ...string) {
	p.t.Helper()
	p.note(func() {
		if !slices.Equal(p.got, want) {
			p.t.Errorf("the phone has %q, want %q", p.got, want)
		}
	})
}

// TestATrialThatFails: the network forgets after 500 s, so the trial of 540 s gets no Echo. Both ends go back to what is
// proven and find the limit; what was sent into the gap, which ends the trial and has the node doubt the line, comes once and
// in order. Only where the network is strict does a failure cost the connection, and there it is believed when it has
// failed twice.
func TestATrialThatFails(t *testing.T) {
	for _, tt := range []struct {
		strict bool
		tried  []int
		fails  []int // trials that fail
		dials  int
	}{
		{false, []int{240, 360, 540, 450, 495}, []int{3}, 1},
		{true, []int{240, 360, 540, 540, 450, 495}, []int{3, 4}, 3},
	} {
		pocket(t, 500*time.Second, tt.strict, func(p *phone) {
			var sent []string
			for _, nth := range tt.fails {
				Idle(time.Until(p.asks(nth).Add(510 * time.Second)))
				gap := []string{fmt.Sprint(nth, ".1"), fmt.Sprint(nth, ".2"), fmt.Sprint(nth, ".3")}
				p.send(gap...)
				p.expectGot(sent...)
				sent = append(sent, gap...)
				p.expectBeat(324 * time.Second) // of 360 s proven
				Idle(2 * time.Minute)
				p.expectGot(sent...)
			}
			p.asks(len(tt.tried))
			Idle(20 * time.Minute)
			p.expectTried(tt.tried...)
			p.expectBeat(442 * time.Second) // of 495 s, which the node keeps in steps of 4
			p.expectCounts(map[string]int{silences: 0, supersedes: tt.dials - 1, suspects: len(tt.fails), leakedTotal: 0})
			if p.net.dials() != tt.dials || p.net.n.Core.Sessions() != 1 {
				t.Errorf("%d connections, %d sessions", p.net.dials(), p.net.n.Core.Sessions())
			}
		})
	}
}

// TestAPhoneThatVanishesInATrial: the node waits as long as the trial asks for, then as for anybody, and closes. The phone
// comes back to what it knew before, and has everything that was sent meanwhile.
func TestAPhoneThatVanishesInATrial(t *testing.T) {
	pocket(t, 2*time.Hour, false, func(p *phone) {
		asked := p.asks(3)
		p.expectTried(240, 360, 540)
		p.net.setAway(true)
		after := func(d time.Duration) {
			Idle(time.Until(asked.Add(d)))
			synctest.Wait()
		}
		after(594 * time.Second)
		p.expectCounts(map[string]int{probings: 0})
		after(597 * time.Second)
		p.expectCounts(map[string]int{probings: 1, suspects: 0})
		p.send("while probing")
		after(619 * time.Second)
		p.expectCounts(map[string]int{suspects: 1})
		p.send("while suspect")
		after(1210 * time.Second)
		p.expectCounts(map[string]int{silences: 0})
		after(1220 * time.Second)
		p.expectCounts(map[string]int{silences: 1, leakedTotal: 0})
		p.send("while away")
		if got := p.net.n.Core.Sessions(); got != 0 {
			t.Errorf("%d sessions", got)
		}
		after(2000 * time.Second)
		p.net.setAway(false)
		Idle(6 * time.Minute)
		p.expectBeat(324 * time.Second)
		p.expectGot("while probing", "while suspect", "while away")
		p.note(func() {
			if last := p.connects[len(p.connects)-1]; last.LowS != 360 || last.HighS != 0 {
				t.Errorf("the phone came back and reported %+v", last)
			}
		})
		p.asks(6)
		p.expectTried(240, 360, 540, 540, 810, 900)
	})
}
