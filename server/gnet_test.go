package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"golang.org/x/sys/unix"

	"lifeline/protocol"
	"lifeline/server/config"
	"lifeline/server/liveness"
	"lifeline/server/session"
	"lifeline/store"
	"lifeline/store/memstore"
)

// runNode serves on real sockets until the test ends.
func runNode(t *testing.T, listen ...string) *Node {
	t.Helper()
	cfg := config.Default()
	cfg.Listen, cfg.HTTP, cfg.Store, cfg.Loops, cfg.MaxConnections = listen, "", config.StoreMemory, 2, 100
	n, err := New(Options{Config: cfg, Metrics: metrics.NewSet(), Log: slog.New(slog.DiscardHandler),
		Open: func(sink store.Sink) (store.Store, error) { return memstore.New(memstore.Options{Sink: sink}), nil }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	eventually(t, "the node serves", n.serving.Load)
	return n
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain:", what)
		}
	}
}

func freeListener(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestSocketOptionsOfAcceptedSockets looks at the server's end of connections through every listener and loop.
func TestSocketOptionsOfAcceptedSockets(t *testing.T) {
	first, second := freeListener(t), freeListener(t)
	n := runNode(t, "tcp4://"+first, "tcp4://"+second)
	for range 16 {
		for _, addr := range []string{first, second} {
			conn, err := net.Dial("tcp4", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
		}
	}
	eventually(t, "all are accepted", func() bool { return n.core.Connections() == 32 })
	wants := []struct {
		name               string
		level, option, min int
		max                int
	}{
		{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1, 1 << 20},
		{"TCP_NOTSENT_LOWAT", unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, notSentLowat, notSentLowat},
		{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(config.UserTimeout.Milliseconds()), int(config.UserTimeout.Milliseconds())},
		{"TCP_RTO_MAX_MS", unix.IPPROTO_TCP, tcpRTOMax, rtoMax, rtoMax},
		{"SO_SNDBUF", unix.SOL_SOCKET, unix.SO_SNDBUF, 2 * sendBuffer, 2 * sendBuffer},
		{"SO_RCVBUF", unix.SOL_SOCKET, unix.SO_RCVBUF, 2 * receiveBuffer, 2 * receiveBuffer},
		{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0, 0},
	}
	seen := 0
	for _, sh := range n.core.shards {
		if sh.loop == nil {
			continue
		}
		sh.call(t.Context(), func() bool {
			for slot := range sh.slab.Slots() {
				fd := sh.conns.bySlot[slot].(interface{ Fd() int }).Fd()
				seen++
				for _, w := range wants {
					got, err := unix.GetsockoptInt(fd, w.level, w.option)
					if w.option == tcpRTOMax && errors.Is(err, unix.ENOPROTOOPT) {
						continue // a kernel before 6.15
					}
					if err != nil || got < w.min || got > w.max {
						t.Errorf("%s is %d, %v, want %d", w.name, got, err, w.min)
					}
				}
			}
			return true
		})
	}
	if seen != 32 {
		t.Errorf("looked at %d sockets, want 32", seen)
	}
}

// TestAWholeConversationOverSockets is the walk on real sockets, in one process: log in, send, push, ack, goodbye.
func TestAWholeConversationOverSockets(t *testing.T) {
	addr := freeListener(t)
	n := runNode(t, "tcp4://"+addr)
	conn, err := net.Dial("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	hello := &protocol.Connect{Version: protocol.Version, Token: []byte("dev:alice"), Device: []byte("phone"), Instance: 1,
		MaxPayload: protocol.PayloadCeiling}
	all := hello.Append(nil)
	all = (&protocol.Send{ID: 1, To: protocol.ToUser, ToID: []byte("alice"), ClientID: []byte("c"), Payload: []byte("note to self")}).Append(all)
	if _, err := conn.Write(all); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	var got []byte
	seen := map[protocol.Type]bool{}
	buf := make([]byte, 4096)
	for !seen[protocol.TypePush] || !seen[protocol.TypeSendack] {
		k, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("after %v: %v", seen, err)
		}
		got = append(got, buf[:k]...)
		for {
			h, size, err := protocol.ReadHeader(got, protocol.MaxLength)
			if err != nil {
				t.Fatal(err)
			}
			if size == 0 || len(got) < size+h.Body {
				break
			}
			seen[h.Type] = true
			got = got[size+h.Body:]
		}
	}
	if _, err := conn.Write((&protocol.Bye{Reason: protocol.ByeQuit}).Append(nil)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session is gone", func() bool { return n.core.Connections() == 0 })
}

// TestALoopThatIsBusyAtTheEndIsNoFault: to close a million sockets takes a loop longer than clients have to read their
// Close. Run ends without an error all the same, which runNode asks for.
func TestALoopThatIsBusyAtTheEndIsNoFault(t *testing.T) {
	addr := freeListener(t)
	n := runNode(t, "tcp4://"+addr)
	n.within = time.Millisecond
	conn, err := net.Dial("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	eventually(t, "it is accepted", func() bool { return n.core.Connections() == 1 })
	busy := make(chan struct{})
	for _, sh := range n.core.shards {
		sh.post(func() { <-busy })
	}
	go func() {
		for !n.engine.stopped.Load() {
			<-time.After(time.Millisecond)
		}
		<-time.After(50 * time.Millisecond) // long after the clients' time
		close(busy)
	}()
}

// TestTheKernelKnowsWhoReadsSlowly: a device that is there takes what is written, and one whose app reads nothing has no room
// and goes on acknowledging.
func TestTheKernelKnowsWhoReadsSlowly(t *testing.T) {
	addr := freeListener(t)
	n := runNode(t, "tcp4://"+addr)
	conn, err := net.Dial("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	hello := &protocol.Connect{Version: protocol.Version, Token: []byte("dev:bob"), Device: []byte("phone"), Instance: 1,
		Activity: protocol.Background, MaxPayload: protocol.PayloadCeiling}
	if _, err := conn.Write(hello.Append(nil)); err != nil {
		t.Fatal(err)
	}
	verdict := func(write []byte) (v liveness.Verdict) {
		for _, sh := range n.core.shards {
			if !sh.mail.bound() {
				continue // it has never had a connection
			}
			sh.call(t.Context(), func() bool {
				for slot := range sh.slab.Slots() {
					if s := sh.slab.At(slot); s.State == session.Active {
						_, _ = sh.conns.of(s).Write(write)
						v = sh.loop.PathInfo(sh.conns.of(s)).Verdict()
					}
				}
				return true
			})
		}
		return v
	}
	eventually(t, "the peer's kernel takes a byte", func() bool { return verdict([]byte{0}) == liveness.AppFrozen })
	verdict(make([]byte, 16<<20))
	eventually(t, "the peer's kernel has no room", func() bool { return verdict(nil) == liveness.SlowReader })
}
