package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// modelServer is a faithful server over a faithless network: it breaks lines, swallows frames until the line is dead,
// refuses, hangs up, and never breaks a rule of the protocol.
type modelServer struct {
	t *testing.T

	mu     sync.Mutex
	random *rand.Rand
	calm   bool              // the network has become good
	inbox  []string          // Pos 1 is the first
	stored []string          // client ids in the order of Seq
	seqs   map[string]uint64 // client id → Seq
	lines  int
}

func (m *modelServer) chance(percent int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.calm && m.random.IntN(100) < percent
}

func (m *modelServer) number(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.random.IntN(n)
}

func (m *modelServer) dial(context.Context, string, string) (net.Conn, error) {
	if m.chance(20) {
		return nil, errNoRoute
	}
	m.mu.Lock()
	m.lines++
	m.mu.Unlock()
	client, server := net.Pipe()
	l := &modelLine{m: m, conn: server, done: make(chan struct{})}
	go l.serve()
	return client, nil
}

// modelLine is one connection.
type modelLine struct {
	m    *modelServer
	conn net.Conn
	done chan struct{} // closed when reading has ended
	dead bool          // nothing is answered any more. Guarded by mu.

	mu      sync.Mutex
	acked   uint64 // Guarded by mu.
	sent    uint64 // Guarded by mu.
	refused string // client id of the Send that must come first. Guarded by mu.
}

func (l *modelLine) serve() {
	defer close(l.done)
	defer func() { _ = l.conn.Close() }()
	in := bufio.NewReader(l.conn)
	for {
		h, err := readHeader(in)
		if err != nil {
			return
		}
		body := make([]byte, h.Body)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		f := protocol.New(h.Type)
		if err := f.Parse(body); err != nil {
			l.m.t.Errorf("the client sent %v: %v", h.Type, err)
			return
		}
		if l.m.chance(2) {
			l.mu.Lock()
			l.dead = true
			l.mu.Unlock()
		}
		if !l.take(f) {
			return
		}
	}
}

// take treats a frame; it is false when the line ends.
func (l *modelLine) take(f protocol.Frame) bool {
	if l.m.chance(2) {
		return false
	}
	if l.m.chance(1) {
		status := protocol.CodeDraining.Status()
		l.send(&protocol.Close{Status: status})
		return false
	}
	switch f := f.(type) {
	case *protocol.Connect:
		return l.connect(f)
	case *protocol.Ping, *protocol.State:
		l.send(&protocol.Pong{})
	case *protocol.Ack:
		l.mu.Lock()
		defer l.mu.Unlock()
		if f.Pos > l.sent || f.Pos < l.acked {
			l.m.t.Errorf("ack of %d after %d; %d was sent", f.Pos, l.acked, l.sent)
		}
		l.acked = f.Pos
	case *protocol.Send:
		l.send(l.store(f))
	case *protocol.Bye:
		l.send(&protocol.Close{Status: protocol.CodeBye.Status()})
		return false
	}
	return true
}

func (l *modelLine) send(f protocol.Frame) {
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if !dead {
		_, _ = l.conn.Write(f.Append(nil)) // a broken line is the next read's business
	}
}

func (l *modelLine) connect(f *protocol.Connect) bool {
	if l.m.chance(5) {
		l.send(&protocol.Close{Status: protocol.CodeBusy.Status()})
		return false
	}
	l.m.mu.Lock()
	head := uint64(len(l.m.inbox))
	l.m.mu.Unlock()
	answer := connack(f.Pos, every(60))
	if !f.HasPos {
		answer = connack(head, every(60), reset)
	} else if f.Pos > head {
		l.m.t.Errorf("the client goes on at %d of %d", f.Pos, head)
	}
	l.acked, l.sent = answer.Start, answer.Start
	l.send(answer)
	go l.pump()
	return true
}

// pump pushes what comes, never more than a window ahead of the acks.
func (l *modelLine) pump() {
	for {
		select {
		case <-l.done:
			return
		case <-time.After(time.Duration(l.m.number(300)) * time.Millisecond):
		}
		l.m.mu.Lock()
		inbox := l.m.inbox
		l.m.mu.Unlock()
		l.mu.Lock()
		from := l.sent
		to := min(uint64(len(inbox)), from+uint64(l.m.number(40)), l.acked+64)
		l.sent = max(from, to)
		l.mu.Unlock()
		if to > from {
			l.send(push(from+1, inbox[from:to]...))
		}
	}
}

func (l *modelLine) store(f *protocol.Send) *protocol.Sendack {
	id := string(f.ClientID)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused != "" && l.refused != id && !f.SkipOrder {
		return refused1(f.ID, protocol.CodeOutOfOrder)
	}
	if l.m.chance(5) {
		l.refused = id
		return refused1(f.ID, protocol.CodeBusy)
	}
	l.refused = ""
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.seqs[id] == 0 {
		l.m.stored = append(l.m.stored, id)
		l.m.seqs[id] = uint64(len(l.m.stored))
	}
	return stored1(f.ID, l.m.seqs[id])
}

// An hour on a bad network, then a good one: every message was handled once and in order, every message sent was stored
// once and in order, whatever broke in between.
func TestNothingIsLostOnABadNetwork(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { badNetwork(t, seed) })
		})
	}
}

func badNetwork(t *testing.T, seed uint64) {
	m := &modelServer{t: t, random: rand.New(rand.NewPCG(seed, 1)), seqs: map[string]uint64{}}
	var mu sync.Mutex
	var handled, settled, put []string
	o := Options{Servers: []string{"model:1"}, Device: "phone", Dial: m.dial,
		Token: func(context.Context, bool) ([]byte, error) { return []byte("t"), nil },
		OnMessage: func(message Message) error {
			time.Sleep(time.Duration(m.number(20)) * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			handled = append(handled, string(message.Payload))
			return nil
		},
		OnSent: func(s Sent) {
			mu.Lock()
			defer mu.Unlock()
			settled = append(settled, fmt.Sprintf("%s %d %v", s.Message.ClientID, s.Seq, s.Err))
		},
		Inbox: &MemoryInbox{progress: Progress{Epoch: testEpoch}, known: true},
	}
	c, err := newClient(o, func() float64 { return float64(m.number(1000)) / 1000 })
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()

	for n := range 1200 {
		name := fmt.Sprint(n)
		m.mu.Lock()
		m.inbox = append(m.inbox, name)
		m.mu.Unlock()
		if _, err := c.Send(&Outgoing{ToUser: "bob", ClientID: []byte(name)}); err == nil {
			put = append(put, name)
		} else if !errors.Is(err, ErrOutboxFull) {
			t.Fatal(err)
		}
		switch n % 200 {
		case 50:
			c.NetworkChanged(protocol.Network{Key: uint64(n)})
		case 100:
			c.SetActivity(protocol.Background)
		case 150:
			c.SetActivity(protocol.Foreground)
		}
		time.Sleep(time.Duration(m.number(6000)) * time.Millisecond)
	}
	m.mu.Lock()
	m.calm = true
	m.mu.Unlock()
	time.Sleep(time.Hour)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run returned %v", err)
	}
	synctest.Wait()

	if !slices.Equal(handled, m.inbox) {
		t.Errorf("handled %d of %d messages, or not in order", len(handled), len(m.inbox))
	}
	if !slices.Equal(m.stored, put) {
		t.Errorf("stored %d of %d messages, or not in order", len(m.stored), len(put))
	}
	if len(settled) != len(put) {
		t.Errorf("%d outcomes of %d messages", len(settled), len(put))
	}
	if m.lines < 10 {
		t.Errorf("only %d connections: the network was too good to prove anything", m.lines)
	}
}
