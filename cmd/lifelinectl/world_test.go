package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lifeline/server/route/redistest"
)

// deadline bounds every wait of these tests; none asserts how long something took.
const deadline = 2 * time.Minute

var binaries string // directory

// TestMain makes and removes the directory of the commands.
func TestMain(m *testing.M) {
	var err error
	if binaries, err = os.MkdirTemp("", "lifelinectl"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(binaries)
	os.Exit(code)
}

// build makes the commands, once: the tests run what a user runs.
var build = sync.OnceValue(func() error {
	out, err := exec.Command("go", "build", "-o", binaries, "lifeline/cmd/lifelined", "lifeline/cmd/lifelinectl").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return nil
})

// world is a server of its own, and a home directory.
type world struct {
	t    *testing.T
	addr string
	home string
}

// newWorld starts lifelined with the store in memory.
func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, addr: "tcp4://" + redistest.FreeAddr(t), home: t.TempDir()}
	http := redistest.FreeAddr(t)
	cmd := exec.Command(filepath.Join(binaries, "lifelined"), append([]string{"--store", "memory", "--listen", w.addr, "--http", http}, args...)...)
	var log log
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("lifelined:\n%s", log.String())
		}
	})
	w.until("the server is ready", func() bool { return ready(http) })
	return w
}

func ready(address string) bool {
	r, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		return false
	}
	_ = r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// until polls a condition up to the deadline.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !ok(); <-tick.C {
		if time.Since(began) > deadline {
			w.t.Fatalf("%s: not within %v", what, deadline)
		}
	}
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(binaries, "lifelinectl"), args...)
	cmd.Env = []string{"HOME=" + w.home, "LIFELINE_SERVER=" + w.addr}
	return cmd
}

// run runs a command to its end and expects an exit code.
func (w *world) run(code int, stdin io.Reader, args ...string) (stdout, stderr string) {
	w.t.Helper()
	got, stdout, stderr := w.try(stdin, args...)
	if got != code {
		w.t.Fatalf("lifelinectl %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	return stdout, stderr
}

// try runs a command to its end.
func (w *world) try(stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	cmd := w.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	code = codeOf(cmd.Run())
	return code, out.String(), errs.String()
}

func codeOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// listener is a running listen command.
type listener struct {
	w     *world
	cmd   *exec.Cmd
	lines chan string
	errs  log
}

// log is what a running process writes.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// listen starts a listener and waits until it is online: what is sent from now on reaches it.
func (w *world) listen(args ...string) *listener {
	w.t.Helper()
	l := &listener{w: w, cmd: w.command(append([]string{"listen"}, args...)...), lines: make(chan string, 1<<20)}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	l.cmd.Stderr = &l.errs
	if err := l.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
	})
	go func() {
		defer close(l.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			l.lines <- in.Text()
		}
	}()
	w.until("the listener is online", func() bool { return strings.Contains(l.errs.String(), "online at") })
	return l
}

// take returns the next n lines.
func (l *listener) take(n int) (lines []string) {
	l.w.t.Helper()
	timeout := time.After(deadline)
	for len(lines) < n {
		select {
		case line, ok := <-l.lines:
			if !ok {
				l.w.t.Fatalf("the listener ended after %d of %d lines: %s", len(lines), n, l.errs.String())
			}
			lines = append(lines, line)
		case <-timeout:
			l.w.t.Fatalf("%d of %d lines came: %s", len(lines), n, l.errs.String())
		}
	}
	return lines
}

// end sends a signal, waits, and returns the lines that were left.
func (l *listener) end(signal syscall.Signal, code int) (lines []string) {
	l.w.t.Helper()
	if err := l.cmd.Process.Signal(signal); err != nil {
		l.w.t.Fatal(err)
	}
	for line := range l.lines {
		lines = append(lines, line)
	}
	if got := codeOf(l.cmd.Wait()); got != code {
		l.w.t.Fatalf("the listener ended with %d, want %d: %s", got, code, l.errs.String())
	}
	return lines
}

// seq is seq(1): the numbers from first to last, one a line.
func seq(first, last int) string {
	var b strings.Builder
	for n := first; n <= last; n++ {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

func parseLines[T any](t *testing.T, text string) (values []T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		values = append(values, v)
	}
	return values
}
