package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route/redistest"
)

// The tests here run the real server as a child process, killed and stopped for real. The child is this test binary:
// TestMain turns it into what the variable says.
const roleVariable = "LIFELINED_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role != "" {
		go endWithParent()
	}
	switch role {
	case "":
		os.Exit(m.Run())
	case "server":
		_ = os.Unsetenv(roleVariable)
		main()
	case "dialler":
		dialMany(os.Args[1:])
	case "crowd":
		crowdMany(os.Args[1:])
	default:
		fmt.Fprintln(os.Stderr, "unknown role", role)
		os.Exit(exitUsage)
	}
}

// endWithParent ends a child when the test that holds the other end of its input is gone: no server outlives a test that was
// killed.
func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(exitFailed)
}

// patience bounds every wait of these tests; crowdPatience those for thousands of connections.
const (
	patience      = time.Minute
	crowdPatience = 5 * time.Minute
)

// process is a child.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	ended  chan struct{}
	mu     sync.Mutex
	output bytes.Buffer // both streams. Guarded by mu.
}

// Write takes the child's output.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(b)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// child starts a process in a role; it is killed with the test. wrap, if any, is a shell command before the exec.
func child(t testing.TB, role, wrap string, args ...string) *process {
	t.Helper()
	p := &process{t: t, ended: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], args...)
	if wrap != "" {
		p.cmd = exec.Command("/bin/sh", append([]string{"-c", wrap + ` && exec "$0" "$@"`, os.Args[0]}, args...)...)
	}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if _, err := p.cmd.StdinPipe(); err != nil { // closed with this process, or when the child has ended
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the child with SIGKILL and waits.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

// waitExit waits for the child to end by itself and returns its exit code.
func (p *process) waitExit() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("the child did not end; it said:\n%s", p.said())
		return 0
	}
}

// node is a child that serves on a port of its own.
type node struct {
	*process
	addr, http string
}

// serve starts a server and waits until it is ready.
func serve(t testing.TB, wrap string, args ...string) *node {
	t.Helper()
	return serveOn(t, redistest.FreeAddr(t), wrap, args...)
}

func serveOn(t testing.TB, addr, wrap string, args ...string) *node {
	t.Helper()
	s := &node{addr: addr, http: redistest.FreeAddr(t)}
	if !slices.Contains(args, "--store") {
		args = append(args, "--store", "memory")
	}
	args = append([]string{"--listen", "tcp4://" + s.addr, "--http", s.http}, args...)
	s.process = child(t, "server", wrap, args...)
	eventually(t, "the server serves", func() bool {
		select {
		case <-s.ended:
			t.Fatalf("the server ended:\n%s", s.said())
		default:
		}
		return strings.Contains(s.said(), "msg=serving")
	})
	return s
}

// eventually polls until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	within(t, patience, what, holds)
}

// within is eventually with another patience.
func within(t testing.TB, most time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(most); ; <-time.After(5 * time.Millisecond) {
		if holds() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", most, what)
		}
	}
}

// line is a client over a real socket.
type line struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
	busy int // Presences that were refused
}

func dial(t testing.TB, addr string) *line {
	t.Helper()
	conn, err := net.DialTimeout("tcp4", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &line{t: t, conn: conn, r: bufio.NewReader(conn)}
}

// login dials and logs in by a development token.
func login(t testing.TB, addr, user, device string) *line {
	t.Helper()
	l := dial(t, addr)
	l.send(connect(user, device))
	if f := l.next(); f.Type() != protocol.TypeConnack {
		t.Fatalf("log in: got %s", f.AppendText(nil))
	}
	return l
}

func connect(user, device string) *protocol.Connect {
	return &protocol.Connect{Version: protocol.Version, Token: []byte("dev:" + user), Device: []byte(device), Instance: 1,
		Activity: protocol.Foreground, MaxPayload: protocol.PayloadCeiling}
}

func (l *line) send(f protocol.Frame) {
	l.t.Helper()
	_ = l.conn.SetDeadline(time.Now().Add(patience))
	if _, err := l.conn.Write(f.Append(nil)); err != nil {
		l.t.Fatalf("send %v: %v", f.Type(), err)
	}
}

// next reads one frame; it fails the test at the end of the connection.
func (l *line) next() protocol.Frame {
	l.t.Helper()
	_ = l.conn.SetDeadline(time.Now().Add(patience))
	f, err := readFrame(l.r)
	if err != nil {
		l.t.Fatalf("read a frame: %v", err)
	}
	return f
}

func readFrame(r *bufio.Reader) (protocol.Frame, error) {
	var head []byte
	for {
		b, err := r.ReadByte()
		if err != nil {
			return nil, err
		}
		head = append(head, b)
		h, n, err := protocol.ReadHeader(head, protocol.MaxLength)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		body := make([]byte, h.Body)
		if _, err := readFull(r, body); err != nil {
			return nil, err
		}
		f := protocol.New(h.Type)
		return f, f.Parse(body)
	}
}

func readFull(r *bufio.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = r.Read(b[n:])
		n += m
	}
	return n, err
}

// ping checks that the connection lives. If it was silent for long, a Probe may come first.
func (l *line) ping() {
	l.t.Helper()
	l.send(&protocol.Ping{})
	await[*protocol.Pong](l)
}
