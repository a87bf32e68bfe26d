package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lifeline/server/route/redistest"
)

// patience bounds every wait of these tests.
const patience = time.Minute

var built string // the directory of the server that build made

// build makes the real server, once.
var build = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "lifelineload-test"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "lifelined")
	cmd := exec.Command("go", "build", "-o", path, "../lifelined")
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// server is a lifelined of its own, ended with the test.
type server struct {
	addr  string
	http  string
	cmd   *exec.Cmd
	ended chan struct{}

	mu     sync.Mutex
	output bytes.Buffer // Guarded by mu.
}

// Write takes the server's output.
func (s *server) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.Write(b)
}

func (s *server) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.String()
}

func (s *server) kill() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	<-s.ended
}

// serve starts one that keeps its messages in memory, with more arguments if wanted.
func serve(t testing.TB, args ...string) *server {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: "tcp4://" + redistest.FreeAddr(t), http: redistest.FreeAddr(t), ended: make(chan struct{})}
	s.cmd = exec.Command(path, append([]string{"--store", "memory", "--listen", s.addr, "--http", s.http}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s, s
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	t.Cleanup(s.kill)
	for deadline := time.Now().Add(patience); !strings.Contains(s.said(), "msg=serving"); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the server does not serve:\n%s", s.said())
		}
	}
	return s
}

// shows waits until the server's metrics have a line like that.
func (s *server) shows(t *testing.T, line string) {
	t.Helper()
	pattern := regexp.MustCompile("(?m)^" + line)
	for deadline := time.Now().Add(patience); ; <-time.After(20 * time.Millisecond) {
		if r, err := http.Get("http://" + s.http + "/metrics"); err == nil {
			text, _ := io.ReadAll(r.Body)
			_ = r.Body.Close()
			if pattern.Match(text) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Errorf("the server never shows %q", line)
			return
		}
	}
}
