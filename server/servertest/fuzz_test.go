package servertest

import (
	"fmt"
	"testing"

	"lifeline/protocol"
)

// FuzzConnection feeds bytes to a connection, before or after its log-in, cut into pieces as the input says. Whatever
// they are, the node must not panic, must hold no more for the connection than the protocol allows, and must hold
// nothing once it is gone. What the server writes must be whole, valid frames: the client checks that.
func FuzzConnection(f *testing.F) {
	hello := Login{User: "bob", Device: "phone"}.Frame().Append(nil)
	f.Add(false, uint8(0), hello)
	f.Add(false, uint8(3), append(hello, 1, 4, 1, 4))
	f.Add(false, uint8(1), []byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(false, uint8(0), []byte{0x16, 0x03, 0x01})
	f.Add(false, uint8(0), []byte{0xff, 0xff, 0xff, 0x01})
	f.Add(true, uint8(0), []byte{1, 4, 1, 8, 0})
	for _, frame := range []protocol.Frame{
		&protocol.Send{ID: 1, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte("c"), Payload: []byte("hello")},
		&protocol.Ack{Pos: 0, HasPos: true}, &protocol.Pull{ID: 2, Conversation: []byte("bob\x1fbob"), FromSeq: 1, ToSeq: 9},
		&protocol.State{Activity: protocol.Background}, &protocol.Reauth{ID: 3, Token: []byte("dev:bob")},
		&protocol.Bye{Reason: protocol.ByeLogout}, &protocol.Ping{EchoAfterS: 200}, &protocol.ProbeAck{},
		&protocol.Presence{ID: 4, Users: [][]byte{[]byte("bob"), []byte("nobody")}},
	} {
		f.Add(true, uint8(2), (&protocol.Ping{}).Append(frame.Append(nil)))
	}
	n := Start(f, 1)
	attempt := uint64(0)
	f.Fuzz(func(t *testing.T, loggedIn bool, piece uint8, data []byte) {
		n.t = t
		defer func() { n.t = f }()
		var c *Client
		if loggedIn {
			attempt++
			c, _ = n.Login(0, Login{User: "bob", Device: "phone", Attempt: attempt})
			c.Stall() // what is pushed to bob would pile up in the test
		} else if c = n.Dial(0); c == nil {
			t.Fatal("the node is full")
		}
		feed(t, n, c, data, int(piece))
		c.Resume()
		c.Close()
		if got := n.Counter("lifeline_panics_total"); got != 0 {
			t.Fatalf("%d panics", got)
		}
		if conns, held := n.Core.Connections(), n.Gauge("lifeline_unfinished_bytes"); conns != 0 || held != 0 {
			t.Fatalf("left behind: %d connections, %v bytes", conns, held)
		}
	})
}

// feed writes data in pieces and checks what the node holds after each.
func feed(t *testing.T, n *Node, c *Client, data []byte, piece int) {
	t.Helper()
	most := float64(protocol.DefaultMaxPayload + protocol.FrameOverhead + protocol.MaxPreAuth)
	for len(data) > 0 {
		size := len(data)
		if piece > 0 {
			size = min(piece, size)
		}
		c.Write(data[:size])
		data = data[size:]
		if held := n.Gauge("lifeline_unfinished_bytes"); held > most {
			t.Fatalf("%v bytes held for one connection", held)
		}
		if w := c.Waiting(); w > 700<<10 {
			t.Fatal(fmt.Sprint(w, " bytes wait for one connection"))
		}
	}
}
