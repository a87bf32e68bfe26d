package server

import (
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"testing"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/protocol"
	"lifeline/server/auth"
	"lifeline/server/liveness"
	"lifeline/server/session"
	"lifeline/store"
	"lifeline/store/memstore"
)

// rig is a core with one shard whose loop is the test's own goroutine: nothing runs but what the test calls.
type rig struct {
	core *Core
	sh   *Shard
	woke chan struct{}
}

func newRig(t testing.TB, options ...func(*CoreOptions)) *rig {
	t.Helper()
	o := CoreOptions{
		Loops: 1, Verifier: auth.Development{}, Heartbeat: liveness.DefaultPolicy(), MaxConnections: 1 << 20,
		MaxPayload: protocol.DefaultMaxPayload, PushWindow: 64, MaxBodyBytes: 1 << 30, Metrics: metrics.NewSet(),
		Log:  slog.New(slog.DiscardHandler),
		Open: func(sink store.Sink) (store.Store, error) { return memstore.New(memstore.Options{Sink: sink}), nil },
	}
	for _, option := range options {
		option(&o)
	}
	core, err := NewCore(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = core.Close() })
	r := &rig{core: core, sh: core.Shard(0), woke: make(chan struct{}, 1)}
	r.sh.Bind(r)
	return r
}

// Wake implements Loop.
func (r *rig) Wake() bool {
	select {
	case r.woke <- struct{}{}:
	default:
	}
	return true
}

// Close implements Loop.
func (r *rig) Close(c Conn) { r.sh.Closed(c.(*nullConn).s, nil) }

// ShutWrite implements Loop.
func (r *rig) ShutWrite(Conn) {}

// PathInfo implements Loop.
func (r *rig) PathInfo(Conn) liveness.PathInfo { return liveness.PathInfo{} }

func (r *rig) gauge(name string) float64 {
	return r.core.opts.Metrics.GetOrCreateGauge(name, nil).Get()
}

// nullConn takes every byte and keeps none.
type nullConn struct {
	s       *session.Session
	written int
	writes  int
}

// Write implements Conn.
func (c *nullConn) Write(p []byte) (int, error) {
	c.written += len(p)
	c.writes++
	return len(p), nil
}

// OutboundBuffered implements Conn.
func (c *nullConn) OutboundBuffered() int { return 0 }

// RemoteAddr implements Conn.
func (c *nullConn) RemoteAddr() net.Addr { return nil }

// login opens a session and waits until it is active.
func (r *rig) login(t testing.TB, user, device string) *nullConn {
	t.Helper()
	c := &nullConn{}
	c.s = r.sh.Open(c)
	hello := &protocol.Connect{Version: protocol.Version, Token: []byte("dev:" + user), Device: []byte(device), Instance: 1,
		Activity: protocol.Foreground, MaxPayload: protocol.PayloadCeiling}
	r.sh.Traffic(c.s, hello.Append(nil))
	for c.s.State != session.Active {
		<-r.woke
		r.sh.Run()
		if c.s.State == session.Closing || c.s.State == session.Free {
			t.Fatalf("%s/%s was refused", user, device)
		}
	}
	return c
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	r := newRig(t)
	c := r.login(t, "bob", "phone")
	ping := (&protocol.Ping{}).Append(nil)
	if n := testing.AllocsPerRun(1000, func() { r.sh.Traffic(c.s, ping) }); n != 0 {
		t.Errorf("a Ping and its Pong allocate %v times", n)
	}
	ack := []byte(nil)
	pos := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		pos++
		c.s.Head, c.s.Sent = pos, pos
		ack = (&protocol.Ack{Pos: pos, HasPos: true}).Append(ack[:0])
		r.sh.Traffic(c.s, ack)
	}); n != 0 {
		t.Errorf("an Ack allocates %v times", n)
	}
}

// TestSendAllocations bounds what a Send costs on its loop: the command, its ids, its bytes.
func TestSendAllocations(t *testing.T) {
	r := newRig(t)
	c := r.login(t, "alice", "phone")
	f := &protocol.Send{ID: 1, To: protocol.ToUser, ToID: []byte("bob"), ClientID: []byte("0123456789abcdef"), Payload: make([]byte, 128)}
	if n := testing.AllocsPerRun(1000, func() { r.sh.sendCommand(c.s, f) }); n > 3 {
		t.Errorf("a Send allocates %v times on the loop, want at most 3", n)
	}
}

// BenchmarkPing is a loop's whole work for one heartbeat, without the socket.
func BenchmarkPing(b *testing.B) {
	r := newRig(b)
	c := r.login(b, "bob", "phone")
	ping := (&protocol.Ping{}).Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		r.sh.Traffic(c.s, ping)
	}
}

// BenchmarkDeliver is a loop's whole work for one delivered message and its share of an Ack (one in 16), without the
// socket: the item is found its session, encoded, written; the cursor moves.
func BenchmarkDeliver(b *testing.B) {
	for _, burst := range []int{1, 16} {
		b.Run(fmt.Sprintf("burst=%d", burst), func(b *testing.B) { benchmarkDeliver(b, burst) })
	}
}

func benchmarkDeliver(b *testing.B, burst int) {
	r := newRig(b)
	c := r.login(b, "bob", "phone")
	event := store.Event{Kind: store.KindMessage, Message: &store.Message{Conversation: store.Direct("alice", "bob"), Seq: 1,
		Sender: "alice", SenderDevice: "phone", ClientID: make([]byte, 16), Time: 1, Payload: make([]byte, 128)}}
	var ack []byte
	pos, acked := uint64(0), uint64(0)
	events := make([]store.Event, 0, burst)
	b.ReportAllocs()
	for b.Loop() {
		events = events[:0]
		for range burst {
			pos++
			e := event
			e.To = []store.Recipient{{User: "bob", Pos: pos}}
			events = append(events, e)
		}
		r.core.fanout.Committed(events)
		r.sh.Run()
		if pos-acked >= 16 {
			acked = pos
			ack = (&protocol.Ack{Pos: pos, HasPos: true}).Append(ack[:0])
			r.sh.Traffic(c.s, ack)
		}
	}
	if c.s.Sent != pos {
		b.Fatalf("sent %d of %d", c.s.Sent, pos)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(pos), "ns/message")
	b.ReportMetric(float64(c.writes)/float64(pos), "writes/message")
}

// TestHeapPerSession bounds what an idle session costs the Go heap beside the connection itself.
func TestHeapPerSession(t *testing.T) {
	const sessions, most = 4000, 120
	r := newRig(t)
	r.login(t, "warm-up", "phone")
	before := heap()
	conns := make([]*nullConn, 0, sessions)
	for i := range sessions {
		conns = append(conns, r.login(t, fmt.Sprintf("user-%08d", i), "phone"))
	}
	per := int(heap()-before)/sessions - 32 - 8 // the test's own conn and its place in the slice
	t.Logf("%d bytes of heap per idle session", per)
	if per > most {
		t.Errorf("%d bytes of heap per idle session, want at most %d", per, most)
	}
	runtime.KeepAlive(conns)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
