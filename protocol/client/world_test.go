package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// world is a client, a server that does what the script says, and virtual time between them.
type world struct {
	t     *testing.T
	o     Options
	c     *Client
	lines chan *line // connections, as they come
	ended chan error // what Run returned
	stop  context.CancelFunc

	mu       sync.Mutex
	refusing error     // what Dial returns; nil: it connects. Guarded by mu.
	dialled  []string  // Guarded by mu.
	handled  []string  // payloads that OnMessage was given. Guarded by mu.
	sent     []Sent    // Guarded by mu.
	arrivals []Arrival // Guarded by mu.
	renewed  []bool    // what Token was asked. Guarded by mu.
	resets   []Reset   // Guarded by mu.
}

// play runs a script in virtual time. Random numbers are 0.5; adjust changes the options before the client is made.
func play(t *testing.T, adjust func(w *world), script func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, lines: make(chan *line, 16), ended: make(chan error, 1)}
		w.o = Options{
			Servers:     []string{"one:7400", "two:443"},
			Device:      "phone",
			Token:       w.token,
			OnMessage:   w.message,
			OnSent:      func(s Sent) { w.note(func() { w.sent = append(w.sent, s) }) },
			OnReceiving: func(a Arrival) { w.note(func() { w.arrivals = append(w.arrivals, a) }) },
			OnReset: func(_ context.Context, r Reset) error {
				w.note(func() { w.resets = append(w.resets, r) })
				return nil
			},
			Dial: w.dial,
		}
		if adjust != nil {
			adjust(w)
		}
		var err error
		if w.c, err = newClient(w.o, always(0.5)); err != nil {
			t.Fatal(err)
		}
		w.run()
		defer w.finish()
		script(t, w)
	})
}

func (w *world) run() {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.stop = cancel
	go func() { w.ended <- w.c.Run(ctx) }()
}

// finish ends the client and hangs up every line.
func (w *world) finish() {
	w.stop()
	w.hangUp()
	<-w.ended
	w.hangUp()
}

func (w *world) hangUp() {
	for {
		synctest.Wait()
		select {
		case l := <-w.lines:
			_ = l.conn.Close()
		default:
			return
		}
	}
}

func (w *world) note(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) token(_ context.Context, renew bool) ([]byte, error) {
	w.note(func() { w.renewed = append(w.renewed, renew) })
	return fmt.Appendf(nil, "token %d", len(w.renewed)), nil
}

func (w *world) message(m Message) error {
	w.note(func() { w.handled = append(w.handled, string(m.Payload)) })
	return nil
}

func (w *world) dial(_ context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialled = append(w.dialled, network+" "+address)
	if w.refusing != nil {
		return nil, w.refusing
	}
	client, server := net.Pipe()
	l := &line{w: w, conn: server, frames: make(chan arrived, 1024)}
	go l.read()
	w.t.Cleanup(func() { _ = server.Close() })
	w.lines <- l
	return client, nil
}

func (w *world) refuse(err error) { w.note(func() { w.refusing = err }) }

// within waits for the next connection and fails unless it comes between two virtual durations from now.
func (w *world) within(least, most time.Duration) *line {
	w.t.Helper()
	began := time.Now()
	select {
	case l := <-w.lines:
		if took := time.Since(began); took < least {
			w.t.Fatalf("the client connected after %v, want %v to %v", took, least, most)
		}
		return l
	case <-time.After(most):
		w.t.Fatalf("the client did not connect within %v", most)
		return nil
	}
}

// at waits for the next connection, which must come after exactly this long.
func (w *world) at(d time.Duration) *line {
	w.t.Helper()
	return w.within(d, d+time.Millisecond)
}

// nobody fails if the client connects within a duration.
func (w *world) nobody(d time.Duration) {
	w.t.Helper()
	select {
	case <-w.lines:
		w.t.Fatal("the client connected")
	case <-time.After(d):
	}
}

// result waits for Run to end.
func (w *world) result() error {
	w.t.Helper()
	select {
	case err := <-w.ended:
		w.ended <- err
		return err
	case <-time.After(time.Hour):
		w.t.Fatal("Run does not end")
		return nil
	}
}

func (w *world) expectHandled(want ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.handled, want) {
		w.t.Fatalf("handled %q, want %q", w.handled, want)
	}
}

// line is one connection as the server sees it.
type line struct {
	w      *world
	conn   net.Conn
	frames chan arrived
}

type arrived struct {
	frame protocol.Frame
	at    time.Time
}

func (l *line) read() {
	defer close(l.frames)
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
			l.w.t.Errorf("the client sent %v: %v", h.Type, err)
			return
		}
		l.frames <- arrived{f, time.Now()}
	}
}

func (l *line) send(frames ...protocol.Frame) {
	l.w.t.Helper()
	var out []byte
	for _, f := range frames {
		out = f.Append(out)
	}
	if _, err := l.conn.Write(out); err != nil {
		l.w.t.Fatalf("the client hung up: %v", err)
	}
	synctest.Wait()
}

// drop breaks the line without a word.
func (l *line) drop() {
	_ = l.conn.Close()
	synctest.Wait()
}

// close says why, and hangs up.
func (l *line) close(status protocol.Status, hosts ...string) {
	l.w.t.Helper()
	f := &protocol.Close{Status: status}
	for _, h := range hosts {
		f.Hosts = append(f.Hosts, []byte(h))
	}
	l.send(f)
	l.drop()
}

// expect waits for the next frame, which must be of type F and come within an hour.
func expect[F protocol.Frame](l *line) F {
	l.w.t.Helper()
	f, _ := expectAt[F](l)
	return f
}

func expectAt[F protocol.Frame](l *line) (F, time.Time) {
	l.w.t.Helper()
	select {
	case a, ok := <-l.frames:
		if !ok {
			l.w.t.Fatalf("the client hung up, want a %v", reflect.TypeFor[F]())
		}
		f, ok := a.frame.(F)
		if !ok {
			l.w.t.Fatalf("the client sent %s, want a %v", a.frame.AppendText(nil), reflect.TypeFor[F]())
		}
		return f, a.at
	case <-time.After(time.Hour):
		l.w.t.Fatalf("the client sent nothing for an hour, want a %v", reflect.TypeFor[F]())
		panic("not reached")
	}
}

func (l *line) expectAck(pos uint64) time.Time {
	l.w.t.Helper()
	f, at := expectAt[*protocol.Ack](l)
	if !f.HasPos || f.Pos != pos {
		l.w.t.Fatalf("the client sent %s, want an ack of %d", f.AppendText(nil), pos)
	}
	return at
}

// expectEnd waits for the client to hang up.
func (l *line) expectEnd() {
	l.w.t.Helper()
	for {
		select {
		case a, ok := <-l.frames:
			if !ok {
				return
			}
			if _, ping := a.frame.(*protocol.Ping); !ping {
				l.w.t.Fatalf("the client sent %s, want the end", a.frame.AppendText(nil))
			}
		case <-time.After(time.Hour):
			l.w.t.Fatal("the client does not hang up")
		}
	}
}

// quiet fails if the client sends or hangs up within a duration.
func (l *line) quiet(d time.Duration) {
	l.w.t.Helper()
	select {
	case a, ok := <-l.frames:
		if !ok {
			l.w.t.Fatal("the client hung up")
		}
		l.w.t.Fatalf("the client sent %s", a.frame.AppendText(nil))
	case <-time.After(d):
	}
}

var testEpoch = Epoch{0xe, 1}

// connack is an answer to a Connect that goes on at pos. Its heartbeat is so long that most scripts see no ping.
func connack(pos uint64, change ...func(*protocol.Connack)) *protocol.Connack {
	f := &protocol.Connack{ConnID: 1, ServerTimeMs: uint64(time.Now().UnixMilli()), Epoch: slices.Clone(testEpoch[:]), Head: pos, Start: pos,
		Heartbeat: protocol.Heartbeat{IntervalS: 36_000}, PushWindow: 64,
		Limits: protocol.Limits{MaxFrame: 34 << 10, MaxPayload: 32 << 10, UnansweredSends: 64, UnansweredRequests: 4, AckDelayMs: 200, AckEvery: 16}}
	for _, c := range change {
		c(f)
	}
	return f
}

func reset(f *protocol.Connack) { f.Reset = true }

// begin answers a first log-in with a reset at pos and returns when the client has acknowledged it.
func (l *line) begin(pos uint64, change ...func(*protocol.Connack)) *protocol.Connect {
	l.w.t.Helper()
	f := expect[*protocol.Connect](l)
	l.send(connack(pos, append(change, reset)...))
	l.expectAck(pos)
	return f
}

// resume answers a Connect that goes on at pos.
func (l *line) resume(pos uint64, change ...func(*protocol.Connack)) *protocol.Connect {
	l.w.t.Helper()
	f := expect[*protocol.Connect](l)
	if !f.HasPos || f.Pos != pos || string(f.Epoch) != string(testEpoch[:]) {
		l.w.t.Fatalf("the client sent %s, want it to go on at %d", f.AppendText(nil), pos)
	}
	l.send(connack(pos, change...))
	return f
}

// push is a Push of messages that begin at pos. A message's id and payload are its name.
func push(pos uint64, names ...string) *protocol.Push {
	f := new(protocol.Push)
	for i, name := range names {
		id := make([]byte, protocol.MessageIDBytes)
		copy(id, name)
		f.Entries = append(f.Entries, protocol.Entry{Pos: pos + uint64(i), Kind: protocol.EntryMessage, Message: protocol.Message{
			Conversation: []byte("alice\x1fbob"), Seq: pos + uint64(i), MessageID: id, Sender: []byte("alice"),
			Payload: []byte(name), HasPayload: true}})
	}
	return f
}

// numbered returns the names from first to last.
func numbered(first, last int) (names []string) {
	for n := first; n <= last; n++ {
		names = append(names, fmt.Sprint(n))
	}
	return names
}

func refusal(t *testing.T, err error, want protocol.Code) {
	t.Helper()
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Status.Code != want {
		t.Fatalf("got %v, want a refusal with %v", err, want)
	}
}
