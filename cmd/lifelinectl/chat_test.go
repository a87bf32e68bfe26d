package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lifeline/protocol"
	"lifeline/protocol/client"
	"lifeline/server/route/redistest"
)

// terminal is a chat in a terminal of its own.
type terminal struct {
	w      *world
	cmd    *exec.Cmd
	master *os.File
	errs   bytes.Buffer
	screen log
}

// chat starts a chat and waits for its prompt.
func (w *world) chat(args ...string) *terminal {
	w.t.Helper()
	master, slave := pseudoTerminal(w.t)
	c := &terminal{w: w, cmd: w.command(append([]string{"chat"}, args...)...), master: master}
	c.cmd.Env = append(c.cmd.Env, "NO_COLOR=1")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, &c.errs
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	_ = slave.Close() // the command has its own
	w.t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		_ = master.Close()
	})
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			_, _ = c.screen.Write(buf[:n])
		}
	}()
	c.expect("› ")
	return c
}

func pseudoTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	number, err1 := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err2 := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	err3 := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	slave, err4 := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return master, slave
}

func (c *terminal) typed(text string) {
	c.w.t.Helper()
	if _, err := c.master.WriteString(text); err != nil {
		c.w.t.Fatal(err)
	}
}

// expect waits until text is on the screen, and forgets what is before its end.
func (c *terminal) expect(text string) {
	c.w.t.Helper()
	defer func() {
		if c.w.t.Failed() {
			c.w.t.Logf("the screen: %q", c.screen.String())
		}
	}()
	c.w.until(fmt.Sprintf("%q is on the screen", text), func() bool { return strings.Contains(c.screen.String(), text) })
	c.screen.cut(text)
}

func (l *log) cut(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := bytes.Index(l.text.Bytes(), []byte(text)); i >= 0 {
		l.text.Next(i + len(text))
	}
}

// end waits for the command and expects an exit code.
func (c *terminal) end(code int) {
	c.w.t.Helper()
	if got := codeOf(c.cmd.Wait()); got != code {
		c.w.t.Fatalf("the chat ended with %d, want %d: %s", got, code, c.errs.Bytes())
	}
}

func TestTwoPeopleChat(t *testing.T) {
	w := newWorld(t)
	alice := w.chat("--as", "alice", "--with", "bob")
	bob := w.chat("--as", "bob", "--with", "alice")
	alice.typed("hello bob\r")
	alice.expect("alice  hello bob ✓\r\n")
	bob.expect("alice  hello bob\r\n")
	bob.typed("你好\r")
	bob.expect("bob    你好 ✓\r\n")
	alice.expect("bob    你好\r\n")

	alice.typed("\x1b[200~two\nlines\x1b[201~ of it\r")
	bob.expect("alice  two\r\n")
	bob.expect("lines of it\r\n")

	// What the other writes does not disturb what is typed; nor can it harm the terminal.
	alice.typed("half")
	alice.expect("› half")
	w.run(0, nil, "send", "--as", "bob", "--to", "alice", "\x1b[2Jevil")
	alice.expect(`\u001b[2Jevil` + "\r\n")
	alice.expect("› half")
	alice.typed(" done\r")
	bob.expect("half done\r\n")

	w.run(0, nil, "send", "--as", "carol", "--to", "bob", "psst")
	bob.expect("carol, elsewhere: psst")
	bob.typed("/nonsense\r")
	bob.expect("there is no command /nonsense")
	bob.typed("//slash\r")
	alice.expect("bob    /slash\r\n")

	bob.typed("/quit\r")
	bob.end(0)
	alice.typed("last words\r\x04")
	alice.end(0)

	// The next chat begins with what was said.
	bob = w.chat("--as", "bob", "--with", "alice", "--history", "3")
	bob.expect("alice  half done\r\n")
	bob.expect("bob    /slash ✓\r\n")
	bob.expect("alice  last words\r\n")
	bob.typed("\x03")
	bob.end(0)
}

func TestChatThatCannotSend(t *testing.T) {
	w := newWorld(t)
	w.addr = "tcp4://" + redistest.FreeAddr(t)
	c := w.chat("--as", "alice", "--with", "bob")
	c.expect("connection refused")
	c.typed("into the void\r")
	c.expect("⋯ into the void")
	c.typed("\x04")
	c.end(exitFailed)
	if errs := c.errs.String(); !strings.Contains(errs, "not sent: into the void") || !strings.Contains(errs, errUnsent.Error()) {
		t.Errorf("the chat said %q", errs)
	}
}

func TestChatThatIsRefused(t *testing.T) {
	w := newWorld(t)
	c := w.chat("--token", "no-token", "--with", "bob")
	c.end(exitRefused)
	if errs := c.errs.String(); !strings.Contains(errs, "BAD_TOKEN") {
		t.Errorf("the chat said %q", errs)
	}
}

func TestChatNeedsATerminal(t *testing.T) {
	for args, want := range map[string]string{
		"--as alice --with bob":               "needs a terminal",
		"--as alice":                          "say with whom",
		"--as alice --with bob --history 101": "--history",
	} {
		code, _, stderr := here(t, nil, "", append([]string{"chat"}, strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d %q, want 2 with %q", args, code, stderr, want)
		}
	}
}

func TestWhatTheChatSaysOfItsConnection(t *testing.T) {
	now := time.Unix(1000, 0)
	refused := &client.RefusedError{Status: protocol.CodeBusy.Status()}
	for _, tt := range []struct {
		status client.Status
		want   string
	}{
		{client.Status{State: client.Online}, ""},
		{client.Status{State: client.Online, Held: refused}, "waits to be sent: the server says BUSY"},
		{client.Status{State: client.Connecting}, "connecting …"},
		{client.Status{State: client.Waiting, Next: now.Add(5 * time.Second), Cause: io.EOF}, "next try in 5s, /retry for now; not connected: EOF"},
		{client.Status{State: client.Waiting, Next: now}, "not connected"},
		{client.Status{State: client.Leaving}, ""},
	} {
		if got := connectionText(&tt.status, now); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%+v: %q, want %q", tt.status, got, tt.want)
		}
	}
}
