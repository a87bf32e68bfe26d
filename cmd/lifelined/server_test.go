package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route/redistest"
)

func TestARestartAfterKillBindsAtOnce(t *testing.T) {
	s := serve(t, "")
	for range 5 {
		var lines []*line
		for i := range 20 {
			lines = append(lines, login(t, s.addr, fmt.Sprint("user-", i), "phone"))
		}
		s.kill()
		s = serveOn(t, s.addr, "")
		login(t, s.addr, "alice", "phone").ping()
		for _, l := range lines {
			l.conn.Close()
		}
	}
}

func TestASecondServerOnThePortFailsClearly(t *testing.T) {
	first := serve(t, "")
	l := login(t, first.addr, "alice", "phone")
	second := child(t, "server", "", "--store", "memory", "--listen", "tcp4://"+first.addr, "--http", redistest.FreeAddr(t))
	if code := second.waitExit(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if !strings.Contains(second.said(), "another process listens there") || !strings.Contains(second.said(), first.addr) {
		t.Errorf("it said:\n%s", second.said())
	}
	l.ping()
}

func TestSIGTERMTellsClientsToComeBack(t *testing.T) {
	s := serve(t, "")
	l := login(t, s.addr, "alice", "phone")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	f, ok := l.next().(*protocol.Close)
	if !ok || f.Status.Code != protocol.CodeDraining || f.Status.Retry != protocol.RetryAfter {
		t.Fatalf("got %s", f.AppendText(nil))
	}
	l.conn.Close()
	if code := s.waitExit(); code != 0 {
		t.Fatalf("exit code %d; it said:\n%s", code, s.said())
	}
}

// TestTheCloseArrives: what follows a fatal frame must not destroy the Close that answers it. A server that closed its
// socket with unread input would send a reset, and a reset discards what the client has not read.
func TestTheCloseArrives(t *testing.T) {
	s := serve(t, "")
	for range 20 {
		l := login(t, s.addr, "alice", "phone")
		l.send(&protocol.Ack{Pos: 99, HasPos: true})
		_ = l.conn.SetDeadline(time.Now().Add(patience))
		flood := bytes.Repeat((&protocol.Ping{}).Append(nil), 4096)
		for range 16 {
			if _, err := l.conn.Write(flood); err != nil {
				break // the server has closed by now; what it wrote before must still be here
			}
		}
		f, ok := l.next().(*protocol.Close)
		if !ok || f.Status.Code != protocol.CodeAckBeyondSent {
			t.Fatalf("got %s", f.AppendText(nil))
		}
		if _, err := l.r.ReadByte(); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("after the Close: %v", err)
		}
	}
}

// TestDescriptorsNeverRunOut: with room for 150 connections and ten times as many dials piled up while the loops stand
// still, every live connection must survive and the server must go on accepting.
func TestDescriptorsNeverRunOut(t *testing.T) {
	const most, live, storm = 200, 150, 2000
	s := serve(t, fmt.Sprintf("ulimit -n %d", most+768))
	var lines []*line
	for i := range live {
		lines = append(lines, login(t, s.addr, fmt.Sprint("user-", i), "phone"))
	}
	for round := range 3 {
		if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		waiting := make([]net.Conn, 0, storm)
		for range storm {
			conn, err := net.DialTimeout("tcp4", s.addr, patience)
			if err != nil {
				t.Fatal(err)
			}
			waiting = append(waiting, conn)
		}
		if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			l.ping()
		}
		for _, conn := range waiting {
			conn.Close()
		}
		eventually(t, fmt.Sprintf("round %d: accepting resumes", round), func() bool {
			conn, err := net.DialTimeout("tcp4", s.addr, patience)
			if err != nil {
				return false
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			_, _ = conn.Write(connect("late", "phone").Append(nil))
			one := make([]byte, 1)
			n, _ := conn.Read(one)
			return n == 1
		})
	}
}
