package servertest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
)

// [P-2.4]
func TestForeignProtocolsAreCountedAndClosed(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		for _, tt := range []struct{ reason, bytes string }{
			{"not_lifeline_tls", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
			{"not_lifeline_http", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
			{"not_lifeline_http", "POST /messages HTTP/1.1\r\n"},
			{"not_lifeline_http", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
			{"not_lifeline_proxy", "PROXY TCP4 192.0.2.1 192.0.2.2 5 6\r\n"},
			{"not_lifeline_proxy", "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c"},
		} {
			for _, chunk := range []int{1, 2, 1 << 10} {
				if strings.HasPrefix(tt.bytes, "PRI") && chunk < 3 {
					continue // "PR" alone is taken for the beginning of PROXY
				}
				name := fmt.Sprintf("lifeline_closes_total{reason=%q}", tt.reason)
				before := n.Counter(name)
				c := n.Dial(0)
				for b := range slices.Chunk([]byte(tt.bytes), chunk) {
					c.Write(b)
				}
				c.ExpectEnd()
				if got := n.Counter(name) - before; got != 1 {
					t.Errorf("%q in chunks of %d: counted %d times as %s", tt.bytes[:4], chunk, got, tt.reason)
				}
			}
		}
		nothingLeft(t, n)
	})
}

// nothingLeft checks that no connection and no byte of the shared budget is left.
func nothingLeft(t *testing.T, n *Node) {
	t.Helper()
	Idle(3 * time.Second)
	synctest.Wait()
	if c, s, b := n.Core.Connections(), n.Core.Sessions(), n.Gauge("lifeline_unfinished_bytes"); c != 0 || s != 0 || b != 0 {
		t.Errorf("left: %d connections, %d sessions, %v bytes", c, s, b)
	}
}

// [P-1.5], [P-1.10], [P-2.5], [P-3.7], [P-6.1], [P-6.2]
func TestWhatEndsAConnectionBeforeConnack(t *testing.T) {
	good := Login{User: "bob", Device: "phone"}
	change := func(f func(*protocol.Connect)) []byte {
		c := good.Frame()
		f(c)
		return c.Append(nil)
	}
	for _, tt := range []struct {
		name  string
		bytes []byte
		want  protocol.Code
	}{
		{"garbage", []byte{0x05, 0x99, 1, 2, 3, 4}, protocol.CodeUnexpectedFrame},
		{"zero length", []byte{0x00}, protocol.CodeMalformed},
		{"a length in non-minimal form", []byte{0x82, 0x00, 0x01, 0x00}, protocol.CodeMalformed},
		{"an over-long length", []byte{0xff, 0xff, 0xff, 0xff, 0x01}, protocol.CodeMalformed},
		{"a Connect of 4097 bytes", []byte{0x81, 0x20, 0x01}, protocol.CodePreauthOverflow},
		{"a Ping before Connect", (&protocol.Ping{}).Append(nil), protocol.CodeUnexpectedFrame},
		{"a Send before Connect", (&protocol.Send{ID: 1, To: protocol.ToUser, ToID: []byte("x")}).Append(nil), protocol.CodeUnexpectedFrame},
		{"the head of a long Send before Connect", []byte{0x90, 0x10, 0x0A}, protocol.CodeUnexpectedFrame},
		{"a server's frame", (&protocol.Pong{}).Append(nil), protocol.CodeUnexpectedFrame},
		{"a Connect that cannot be read", []byte{0x03, 0x01, 0x0a, 0x7f}, protocol.CodeMalformed},
		{"another version", change(func(f *protocol.Connect) { f.Version = 99 }), protocol.CodeUnsupportedVersion},
		{"no device", change(func(f *protocol.Connect) { f.Device = nil }), protocol.CodeInvalidID},
		{"a device with a control character", change(func(f *protocol.Connect) { f.Device = []byte("a\x1fb") }), protocol.CodeInvalidID},
		{"a device of 65 bytes", change(func(f *protocol.Connect) { f.Device = bytes.Repeat([]byte("d"), 65) }), protocol.CodeInvalidID},
		{"a client that takes too little", change(func(f *protocol.Connect) { f.MaxPayload = 1000 }), protocol.CodeFrameTooSmall},
		{"no token", change(func(f *protocol.Connect) { f.Token = nil }), protocol.CodeBadToken},
		{"a user with a separator", change(func(f *protocol.Connect) { f.Token = []byte("dev:a\x1fb") }), protocol.CodeBadToken},
		{"4 KiB behind the Connect", append(good.Frame().Append(nil), bytes.Repeat([]byte{1, 4}, 2049)...), protocol.CodePreauthOverflow},
		{"4098 bytes with the Connect", upTo(3000, 4098), protocol.CodePreauthOverflow},
		{"4096 bytes with the Connect", upTo(3000, 4096), protocol.CodeBadToken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script(t, func(t *testing.T) {
				n := Start(t, 1)
				c := n.Dial(0)
				c.Write(tt.bytes)
				c.ExpectClose(tt.want)
				nothingLeft(t, n)
			})
		})
	}
}

// upTo is a Connect with a token of that many bytes that is no good, and Pings up to total.
func upTo(token, total int) []byte {
	all := Login{User: "bob", Device: "phone", Token: strings.Repeat("x", token)}.Frame().Append(nil)
	if (total-len(all))%2 == 1 {
		all = Login{User: "bob", Device: "phone", Token: strings.Repeat("x", token+1)}.Frame().Append(nil)
	}
	return append(all, bytes.Repeat([]byte{1, 4}, (total-len(all))/2)...)
}

// [P-1.10], [P-2.2], [P-2.5], [P-6.8], [P-6.9]
func TestWhatEndsASession(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bytes []byte
		want  protocol.Code
	}{
		{"a second Connect", Login{User: "bob", Device: "phone"}.Frame().Append(nil), protocol.CodeUnexpectedFrame},
		{"a server's frame", (&protocol.Push{}).Append(nil), protocol.CodeUnexpectedFrame},
		{"a node's frame", []byte{0x01, 0xC0}, protocol.CodeUnexpectedFrame},
		{"a frame one byte too large", []byte{0x81, 0x90, 0x02, 0x0A}, protocol.CodeFrameTooLarge},
		{"an Ack without a position", (&protocol.Ack{}).Append(nil), protocol.CodeMalformed},
		{"an Ack of what was never sent", (&protocol.Ack{Pos: 1, HasPos: true}).Append(nil), protocol.CodeAckBeyondSent},
		{"a body that ends inside a field", []byte{0x03, 0x0A, 0x2a, 0x7f}, protocol.CodeMalformed},
		{"zero length", []byte{0x00}, protocol.CodeMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script(t, func(t *testing.T) {
				n := Start(t, 1)
				c, _ := n.Login(0, Login{User: "bob", Device: "phone"})
				c.Write(tt.bytes)
				c.ExpectClose(tt.want)
				nothingLeft(t, n)
			})
		})
	}
}

// [P-2.2], [P-3.7], [P-3.8], [P-4.2], [P-4.3]: each with its code, class and hints, and with what it answers.
func TestWhatIsRefusedAndKeepsTheSession(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		c, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		send := func(change func(*protocol.Send)) []byte {
			f := &protocol.Send{ID: 7, To: protocol.ToUser, ToID: []byte("alice"), ClientID: []byte("c"), Payload: []byte("p")}
			change(f)
			return f.Append(nil)
		}
		for _, tt := range []struct {
			name  string
			bytes []byte
			want  protocol.Code
		}{
			{"an unknown type", []byte{0x01, 0x7F}, protocol.CodeUnsupported},
			{"a reserved type", []byte{0x01, 0x10}, protocol.CodeUnsupported},
			{"a payload one byte too large", send(func(f *protocol.Send) { f.Payload = make([]byte, protocol.DefaultMaxPayload+1) }), protocol.CodePayloadTooLarge},
			{"no recipient", send(func(f *protocol.Send) { f.To = protocol.ToNobody }), protocol.CodeInvalidID},
			{"a recipient with a separator", send(func(f *protocol.Send) { f.ToID = []byte("a\x1fb") }), protocol.CodeInvalidID},
			{"no client id", send(func(f *protocol.Send) { f.ClientID = nil }), protocol.CodeInvalidID},
			{"a client id of 65 bytes", send(func(f *protocol.Send) { f.ClientID = make([]byte, 65) }), protocol.CodeInvalidID},
			{"a group nobody made", send(func(f *protocol.Send) { f.To = protocol.ToGroup }), protocol.CodeNoSuchGroup},
		} {
			c.Write(tt.bytes)
			status := tt.want.Status()
			var want protocol.Frame = &protocol.Sendack{ID: 7, Status: status}
			if tt.want == protocol.CodeUnsupported {
				want = &protocol.Error{FrameType: uint32(tt.bytes[1]), Status: status} // what is not understood has no id
			}
			if got := c.Next(); !bytes.Equal(got.Append(nil), want.Append(nil)) {
				t.Errorf("%s: got %s, want %s", tt.name, got.AppendText(nil), want.AppendText(nil))
			}
		}
		c.Write([]byte{0x01, 0x80}) // ignorable: dropped without a word
		c.Send(&protocol.Ping{})
		Expect[*protocol.Pong](c)
	})
}

// [P-6.1]
func TestSilentAndSlowPeersCostNothing(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		silent, slow := n.Dial(0), n.Dial(0)
		hello := Login{User: "bob", Device: "phone", Token: "dev:bob" + strings.Repeat(" ", 100)}.Frame().Append(nil)
		for _, b := range hello[:9] {
			slow.Write([]byte{b}) // one byte a second
			Idle(time.Second)
		}
		if got := n.Gauge("lifeline_unfinished_bytes"); got == 0 || got > protocol.MaxPreAuth {
			t.Errorf("%v bytes for an unfinished Connect", got)
		}
		Idle(2 * time.Second)
		silent.ExpectClose(protocol.CodeConnectTimeout)
		slow.ExpectClose(protocol.CodeConnectTimeout)
		nothingLeft(t, n)
	})
}

// TestTheBudgetForUnfinishedFrames [P-1.8]: who finds it spent is sent away, and what has ended gives its part back.
// [P-1.8]
func TestTheBudgetForUnfinishedFrames(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1, func(o *server.CoreOptions) { o.MaxBodyBytes = 64 << 10 })
		var held []*Client
		for i := range 2 {
			c, _ := n.Login(0, Login{User: fmt.Sprint("holder-", i), Device: "phone"})
			c.Write([]byte{0x80, 0xF0, 0x01, 0x0A, 0x01}) // 30,720 bytes of a Send that never come
			held = append(held, c)
		}
		c, _ := n.Login(0, Login{User: "third", Device: "phone"})
		c.Write([]byte{0x80, 0xF0, 0x01, 0x0A, 0x01})
		c.ExpectClose(protocol.CodeMemory)
		held[0].Close()
		c, _ = n.Login(0, Login{User: "fourth", Device: "phone"})
		c.Write([]byte{0x80, 0xF0, 0x01, 0x0A, 0x01})
		c.Write(make([]byte, 30<<10))
		c.ExpectClose(protocol.CodeMalformed)
		held[1].Close()
		nothingLeft(t, n)
	})
}

// [P-1.9], [P-6.1]
func TestFramesBehindTheConnectAreHandledInOrder(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		c := n.Dial(0)
		all := Login{User: "bob", Device: "phone"}.Frame().Append(nil)
		all = (&protocol.Ack{Pos: 0, HasPos: true}).Append(all)
		all = (&protocol.Send{ID: 1, To: protocol.ToUser, ToID: []byte("alice"), ClientID: []byte("c"), Payload: []byte("early")}).Append(all)
		all = (&protocol.Ping{}).Append(all)
		for b := range slices.Chunk(all, 7) {
			c.Write(b)
		}
		Expect[*protocol.Connack](c)
		Expect[*protocol.Pong](c)
		if ack := c.Sendack(); ack.Seq != 1 {
			t.Fatalf("got %s", ack.AppendText(nil))
		}
	})
}

func TestTheCapOnConnections(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1, func(o *server.CoreOptions) { o.MaxConnections = 2 })
		a, b := n.Dial(0), n.Dial(0)
		n.knock(0).ExpectClose(protocol.CodeTooManyConnections)
		a.Close()
		if n.Dial(0) == nil {
			t.Fatal("none is taken after one has gone")
		}
		b.Close()
		if got := n.Counter(`lifeline_closes_total{reason="too_many_connections"}`); got != 1 {
			t.Fatalf("counted %d", got)
		}
	})
}
