package redistest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of this package.
const patience = time.Minute

// Server is one redis-server process. Its methods are called on the test's goroutine.
type Server struct {
	tb   testing.TB
	dir  string
	addr string
	args []string

	cmd   *exec.Cmd
	ended chan struct{}
	log   *output
}

// output is what a process has said.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Start starts a server that keeps nothing on disk, with more arguments if wanted. It ends with the test.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := &Server{tb: tb, dir: tb.TempDir(), addr: FreeAddr(tb), args: args}
	s.run()
	return s
}

// Addr is host:port.
func (s *Server) Addr() string { return s.addr }

// binary finds redis-server, or ends the test with what to do.
func binary(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatal("redis-server is not installed: `make test` installs it (apt-get install redis-server)")
	}
	return path
}

func (s *Server) run() {
	s.tb.Helper()
	_, port, _ := net.SplitHostPort(s.addr)
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--loglevel", "warning"}, s.args...)
	s.start(args)
	s.awaitAnswer()
}

// start runs the server under a shell that kills it when this process, which holds the other end of its input, is gone:
// no server outlives a test that was killed.
func (s *Server) start(args []string) {
	s.tb.Helper()
	pidFile := filepath.Join(s.dir, "pid")
	_ = os.Remove(pidFile)
	watch := `"$0" "$@" <&- & echo $! >` + pidFile + `.new; mv ` + pidFile + `.new ` + pidFile + `; read -r _; kill -9 $!; wait`
	s.cmd = exec.Command("/bin/sh", append([]string{"-c", watch, binary(s.tb)}, args...)...)
	s.log = new(output)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	hold, err := s.cmd.StdinPipe()
	if err != nil {
		s.tb.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	s.tb.Cleanup(func() {
		_ = hold.Close()
		<-ended
	})
	s.eventually("the server has a process id", func() bool { return s.pid() > 0 })
}

func (s *Server) pid() int {
	text, err := os.ReadFile(filepath.Join(s.dir, "pid"))
	if err != nil {
		return 0
	}
	var pid int
	_, _ = fmt.Sscan(string(text), &pid)
	return pid
}

func (s *Server) awaitAnswer() {
	s.tb.Helper()
	s.eventually("the server answers", func() bool {
		answer, err := do(s.addr, "PING")
		return err == nil && answer == "PONG"
	})
}

func (s *Server) signal(sig syscall.Signal) {
	s.tb.Helper()
	if err := syscall.Kill(s.pid(), sig); err != nil {
		s.tb.Fatalf("signal %v: %v", sig, err)
	}
}

// Kill ends the server with SIGKILL. What it knew is gone.
func (s *Server) Kill() {
	s.tb.Helper()
	s.signal(syscall.SIGKILL)
	pid := s.pid()
	s.eventually("the server has ended", func() bool { return gone(pid) })
}

// gone reports whether a process has ended, be it that nobody has asked for its end yet.
func gone(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(state, "Z")
}

// Restart starts a killed server again, empty, at the same address.
func (s *Server) Restart() {
	s.tb.Helper()
	s.run()
}

// Stop stops the server with SIGSTOP: its connections stay, and nothing is answered.
func (s *Server) Stop() {
	s.tb.Helper()
	s.signal(syscall.SIGSTOP)
}

// Continue lets a stopped server go on.
func (s *Server) Continue() {
	s.tb.Helper()
	s.signal(syscall.SIGCONT)
}

// Do sends one command on a connection of its own and returns the reply as text, elements of a list in lines.
func (s *Server) Do(args ...string) string {
	s.tb.Helper()
	answer, err := do(s.addr, args...)
	if err != nil {
		s.tb.Fatalf("%q: %v", args, err)
	}
	return answer
}

// Try is [Server.Do] for a server that may not answer.
func (s *Server) Try(args ...string) (string, error) { return do(s.addr, args...) }

// Info returns one value of INFO.
func (s *Server) Info(section, name string) string {
	s.tb.Helper()
	for line := range strings.Lines(s.Do("INFO", section)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	s.tb.Fatalf("INFO %s has no %s", section, name)
	return ""
}

func (s *Server) eventually(what string, holds func() bool) {
	s.tb.Helper()
	for deadline := time.Now().Add(patience); !holds(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.tb.Fatalf("not in time: %s; it said:\n%s", what, s.log)
		}
	}
}
