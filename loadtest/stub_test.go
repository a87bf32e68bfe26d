package loadtest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"lifeline/protocol"
)

// stub is a server for these tests, over real sockets: enough of one to be honest, and able to lie.
type stub struct {
	t        testing.TB
	listener net.Listener
	// Set before the first connection. Each may be nil.
	beat   uint32                                   // heartbeat in seconds; if zero, 60
	refuse func(user string) protocol.Code          // a log-in
	answer func(n int) protocol.Code                // the n-th Send of all
	route  func(n int, e protocol.Entry) []stubPush // the n-th entry for a receiver; nil: push it as it is

	mu    sync.Mutex
	users map[string]*stubUser // Guarded by mu.
	sends int                  // Guarded by mu.
	puts  int                  // Guarded by mu.
	conns []net.Conn           // Guarded by mu.
}

// stubPush is what becomes of an entry.
type stubPush struct {
	entry protocol.Entry
	hang  bool // close the connection instead
}

// stubUser is a user's inbox and sessions.
type stubUser struct {
	pos      uint64
	seq      uint64 // of the conversation that the user writes
	sessions []*stubSession
}

type stubSession struct {
	conn net.Conn
	user string
}

func serveStub(t testing.TB, set func(s *stub)) *stub {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stub{t: t, listener: l, users: map[string]*stubUser{}}
	if set != nil {
		set(s)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			serving.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		serving.Wait()
	})
	return s
}

// hangUp closes the connections of some users that are logged in.
func (s *stub) hangUp(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.users {
		if n == 0 {
			return
		}
		n--
		for _, c := range u.sessions {
			c.conn.Close()
		}
	}
}

func (s *stub) target() Target {
	return Target{Server: "tcp4://" + s.listener.Addr().String(), Loops: 2}
}

func (s *stub) serve(c net.Conn) {
	defer c.Close()
	session := &stubSession{conn: c}
	var kept []byte
	buf := make([]byte, 1024)
	for {
		n, err := c.Read(buf)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !isReset(err) {
				s.t.Errorf("stub: read: %v", err)
			}
			return
		}
		for kept = append(kept, buf[:n]...); ; {
			kind, body, rest, size, err := split(kept)
			if err != nil {
				s.t.Errorf("stub: %v", err)
				return
			}
			if size == 0 || len(kept) < size {
				break
			}
			f := protocol.New(kind)
			if err := f.Parse(bytes.Clone(body)); err != nil {
				s.t.Errorf("stub: %v: %v", kind, err)
				return
			}
			kept = rest
			s.frame(session, f)
		}
	}
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

func (s *stub) frame(c *stubSession, f protocol.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f := f.(type) {
	case *protocol.Connect:
		s.connect(c, f)
	case *protocol.Send:
		s.send(c, f)
	case *protocol.Ping:
		write(c, &protocol.Pong{})
	case *protocol.Bye:
		write(c, &protocol.Close{Status: protocol.CodeBye.Status()})
		c.conn.Close()
	}
}

// write ignores errors: the client may be gone.
func write(c *stubSession, f protocol.Frame) { _, _ = c.conn.Write(f.Append(nil)) }

func (s *stub) connect(c *stubSession, f *protocol.Connect) {
	c.user = string(bytes.TrimPrefix(f.Token, []byte("dev:")))
	if s.refuse != nil {
		if code := s.refuse(c.user); code != 0 {
			write(c, &protocol.Close{Status: code.Status()})
			c.conn.Close()
			return
		}
	}
	u := s.user(c.user)
	u.sessions = append(u.sessions, c)
	write(c, &protocol.Connack{Epoch: make([]byte, 16), Reset: true, PushWindow: 64,
		Heartbeat: protocol.Heartbeat{IntervalS: cmp.Or(s.beat, 60)}, Limits: protocol.Limits{AckDelayMs: 200, AckEvery: 16}})
}

func (s *stub) user(name string) *stubUser {
	if s.users[name] == nil {
		s.users[name] = &stubUser{}
	}
	return s.users[name]
}

func (s *stub) send(c *stubSession, f *protocol.Send) {
	s.sends++
	if s.answer != nil {
		if code := s.answer(s.sends); code != 0 {
			write(c, &protocol.Sendack{ID: f.ID, Status: code.Status()})
			return
		}
	}
	from, to := s.user(c.user), s.user(string(f.ToID))
	from.seq++
	id := binary.BigEndian.AppendUint64(make([]byte, 8), from.seq)
	write(c, &protocol.Sendack{ID: f.ID, Seq: from.seq, MessageID: id})
	m := protocol.Message{Conversation: []byte("c"), Seq: from.seq, MessageID: id, Sender: []byte(c.user), Payload: f.Payload, HasPayload: true}
	to.pos++
	s.deliver(to, protocol.Entry{Pos: to.pos, Kind: protocol.EntryMessage, Message: m})
	m.ClientID, m.Payload, m.HasPayload = f.ClientID, nil, false
	from.pos++
	from.push(protocol.Entry{Pos: from.pos, Kind: protocol.EntryMessage, Message: m})
}

func (s *stub) deliver(to *stubUser, e protocol.Entry) {
	s.puts++
	if s.route == nil {
		to.push(e)
		return
	}
	for _, p := range s.route(s.puts, e) {
		if p.hang {
			for _, c := range to.sessions {
				c.conn.Close()
			}
			continue
		}
		to.pos = max(to.pos, p.entry.Pos)
		to.push(p.entry)
	}
}

func (u *stubUser) push(e protocol.Entry) {
	for _, c := range u.sessions {
		write(c, &protocol.Push{Entries: []protocol.Entry{e}})
	}
}
