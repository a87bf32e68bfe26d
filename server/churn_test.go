package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"lifeline/protocol"
)

// TestChurnOverSocketsLeavesNothing has clients of few users log in on the same devices over and over, from several loops
// at once, send and ask at random, read or not, and end as lines do: with a word, without one, with a reset.
func TestChurnOverSocketsLeavesNothing(t *testing.T) {
	const clients, lives = 16, 12
	addr := freeListener(t)
	n := runNode(t, "tcp4://"+addr)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c := churner{t: t, addr: addr, rng: rand.New(rand.NewPCG(uint64(i), 1))}
			for range lives {
				c.live()
			}
		})
	}
	all.Wait()
	polite, err := net.Dial("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	hello := &protocol.Connect{Version: protocol.Version, Token: []byte("dev:polite"), Device: []byte("phone"), Instance: 1, Attempt: 1,
		MaxPayload: protocol.PayloadCeiling}
	send := &protocol.Send{ID: 1, To: protocol.ToUser, ToID: []byte("polite"), ClientID: []byte("one"), Payload: []byte("x")}
	before := n.core.meter.framesOut[protocol.TypeSendack].Get()
	if _, err := polite.Write(send.Append(hello.Append(nil))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "who behaves is served", func() bool { return n.core.meter.framesOut[protocol.TypeSendack].Get() > before })
	polite.Close()
	eventually(t, "all have gone", func() bool { return n.core.Connections() == 0 })
	if s, u, b := n.core.Sessions(), n.core.dir.Users(), n.core.bodyBytes.Load(); s != 0 || u != 0 || b != 0 {
		t.Errorf("left: %d sessions, %d users, %d bytes", s, u, b)
	}
	if got := n.core.meter.panics.Get(); got != 0 {
		t.Errorf("%d panics", got)
	}
	for _, sh := range n.core.shards {
		if !sh.mail.bound() {
			continue
		}
		sh.call(t.Context(), func() bool {
			if sh.closing.Load() != 0 || len(sh.bodies) != 0 || len(sh.logins) != 0 || len(sh.unsent) != 0 || sh.slab.Live() != 0 {
				t.Errorf("loop %d keeps %d closing, %d bodies, %d log-ins, %d unsent, %d slots", sh.index, sh.closing.Load(),
					len(sh.bodies), len(sh.logins), len(sh.unsent), sh.slab.Live())
			}
			return true
		})
	}
}

// churner is a client without manners.
type churner struct {
	t    *testing.T
	addr string
	rng  *rand.Rand
	id   uint64
}

// live is one connection from its beginning to its end.
func (c *churner) live() {
	conn, err := net.Dial("tcp4", c.addr)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	c.id++
	hello := &protocol.Connect{Version: protocol.Version, Token: fmt.Appendf(nil, "dev:user-%d", c.rng.IntN(3)),
		Device: fmt.Appendf(nil, "device-%d", c.rng.IntN(3)), Instance: c.rng.Uint64(), Attempt: c.id, MaxPayload: protocol.PayloadCeiling}
	if _, err := conn.Write(hello.Append(nil)); err != nil {
		return
	}
	if c.rng.IntN(6) > 0 {
		if _, err := conn.Read(make([]byte, 256)); err != nil { // Connack, or Close
			return
		}
	}
	if c.rng.IntN(3) > 0 {
		go func() {
			buf := make([]byte, 4096)
			for {
				if _, err := conn.Read(buf); err != nil {
					return
				}
			}
		}()
	}
	var burst []byte
	for range c.rng.IntN(40) {
		burst = c.frame().Append(burst)
	}
	_, _ = conn.Write(burst[:len(burst)-min(len(burst), c.rng.IntN(20))]) // the node may have closed
	if c.rng.IntN(2) == 0 {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
}

func (c *churner) frame() protocol.Frame {
	c.id++
	user := fmt.Appendf(nil, "user-%d", c.rng.IntN(3))
	switch c.rng.IntN(8) {
	case 0:
		return &protocol.Ping{}
	case 1:
		return &protocol.State{Activity: protocol.Activity(c.rng.IntN(4))}
	case 2:
		return &protocol.Pull{ID: c.id, Conversation: []byte("user-0\x1fuser-1"), FromSeq: 1, ToSeq: 100}
	case 3:
		return &protocol.Presence{ID: c.id, Users: [][]byte{user}}
	case 4:
		return &protocol.Reauth{ID: c.id, Token: append([]byte("dev:"), user...)}
	case 5:
		if c.rng.IntN(8) == 0 {
			return &protocol.Bye{Reason: protocol.ByeReason(c.rng.IntN(2))}
		}
		return &protocol.ProbeAck{}
	default:
		return &protocol.Send{ID: c.id, To: protocol.ToUser, ToID: user, ClientID: fmt.Append(nil, c.rng.Uint64()), Payload: make([]byte, c.rng.IntN(20<<10))}
	}
}
