package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lifeline/protocol"
	"lifeline/server/route/redistest"
)

// The demonstration: two devices print what was sent, in order, each at its own pace.
func TestTwoDevicesPrintWhatWasSent(t *testing.T) {
	const messages = 20_000
	w := newWorld(t)
	phone, desktop := w.listen("--as", "bob", "--device", "phone"), w.listen("--as", "bob", "--device", "desktop")
	stdout, stderr := w.run(0, strings.NewReader(seq(1, messages)), "send", "--as", "alice", "--to", "bob")
	if stdout != "" || stderr != "" {
		t.Errorf("send printed %q %q", stdout, stderr)
	}
	want := strings.Fields(seq(1, messages))
	for name, l := range map[string]*listener{"phone": phone, "desktop": desktop} {
		if got := l.take(messages); !slices.Equal(got, want) {
			t.Errorf("%s printed something else than what was sent", name)
		}
		if rest := l.end(syscall.SIGTERM, 0); len(rest) != 0 {
			t.Errorf("%s printed %q behind the last message", name, rest)
		}
	}
}

// A listener is stopped cleanly in the middle of things and started again, several times: nothing is missing, nothing
// comes twice.
func TestListenGoesOnWhereItStopped(t *testing.T) {
	w := newWorld(t)
	var got []string
	for round := range 5 {
		l := w.listen("--as", "bob", "--device", "phone")
		w.run(0, strings.NewReader(seq(200*round+1, 200*round+100)), "send", "--as", "alice", "--to", "bob")
		got = append(got, l.take(50)...)
		got = append(got, l.end(syscall.SIGINT, 0)...)
		w.run(0, strings.NewReader(seq(200*round+101, 200*round+200)), "send", "--as", "alice", "--to", "bob")
	}
	want := strings.Fields(seq(1, 1000))
	rest, _ := w.run(0, nil, "listen", "--as", "bob", "--device", "phone", "--count", fmt.Sprint(1000-len(got)), "--timeout", "1m")
	if got = append(got, strings.Fields(rest)...); !slices.Equal(got, want) {
		t.Errorf("printed %d lines, and not 1 to 1000 in order", len(got))
	}
}

// After kill -9 only the last lines come again.
func TestListenIsKilled(t *testing.T) {
	w := newWorld(t)
	state := filepath.Join(t.TempDir(), "inbox")
	printed := 0
	for round := range 5 {
		l := w.listen("--as", "bob", "--device", "phone", "--state", state)
		w.run(0, strings.NewReader(seq(300*round+1, 300*round+300)), "send", "--as", "alice", "--to", "bob")
		lines := l.take(150)
		lines = append(lines, l.end(syscall.SIGKILL, -1)...)
		for i, line := range lines {
			var n int
			if _, err := fmt.Sscan(line, &n); err != nil {
				t.Fatalf("line %q", line)
			}
			if again := printed - n + 1; i == 0 && (again < 0 || again > 64) || i > 0 && n != printed+1 {
				t.Fatalf("round %d, line %d is %d after %d", round, i, n, printed)
			}
			printed = n
		}
	}
}

func TestListenCounts(t *testing.T) {
	w := newWorld(t)
	args := []string{"--as", "bob", "--device", "phone"}
	w.listen(args...).end(syscall.SIGTERM, 0)
	w.run(0, strings.NewReader(seq(1, 10)), "send", "--as", "alice", "--to", "bob")
	count := func(code int, n, timeout string) string {
		t.Helper()
		stdout, _ := w.run(code, nil, append([]string{"listen", "--count", n, "--timeout", timeout}, args...)...)
		return stdout
	}
	if got := count(0, "4", "1m"); got != seq(1, 4) {
		t.Errorf("the first four are %q", got)
	}
	if got := count(0, "2", "1m"); got != seq(5, 6) {
		t.Errorf("the next two are %q", got)
	}
	rest := ""
	w.until("the rest comes, and no more in a second", func() bool { // on a busy machine a second may bring nothing, or a part
		code, stdout, stderr := w.try(nil, append([]string{"listen", "--count", "100", "--timeout", "1s"}, args...)...)
		if rest += stdout; code != exitFailed && code != exitUnreached || !strings.HasPrefix(seq(7, 10), rest) {
			t.Fatalf("the rest is %q, exit code %d: %s", rest, code, stderr)
		}
		return code == exitFailed && rest == seq(7, 10)
	})
	l := w.listen(append([]string{"--count", "100"}, args...)...)
	l.end(syscall.SIGINT, exitInterrupted)
}

func TestListenStates(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "inbox")
	l := w.listen("--as", "bob", "--device", "phone", "--state", file)
	if _, stderr := w.run(1, nil, "listen", "--as", "bob", "--device", "phone", "--state", file); !strings.Contains(stderr, "another process uses it") {
		t.Errorf("a file in use: %s", stderr)
	}
	l.end(syscall.SIGTERM, 0)
	if _, stderr := w.run(1, nil, "listen", "--as", "carol", "--device", "phone", "--state", file); !strings.Contains(stderr, `it belongs to "bob/phone"`) {
		t.Errorf("another user's file: %s", stderr)
	}
	first := w.listen("--as", "bob", "--device", "phone", "--state", "none")
	second := w.listen("--as", "bob", "--device", "phone", "--state", "none")
	w.until("the first is displaced", func() bool { return strings.Contains(first.errs.String(), "DISPLACED") })
	first.end(0, exitRefused)
	second.end(syscall.SIGTERM, 0)
	if left, err := os.ReadDir(w.home); err != nil || len(left) != 0 {
		t.Errorf("with --state a home directory holds %v %v", left, err)
	}
}

func TestJSON(t *testing.T) {
	w := newWorld(t)
	l := w.listen("--as", "bob", "--device", "phone", "-o", "json")
	text := "two\nlines <&> 世界"
	stdout, _ := w.run(0, nil, "send", "--as", "alice", "--device", "desktop", "--to", "bob", "-o", "json", text)
	sent := parseLines[printedSent](t, stdout)
	if len(sent) != 1 || sent[0].Line != 1 || sent[0].Seq != 1 || len(sent[0].ID) != 32 || sent[0].Error != nil {
		t.Fatalf("send printed %s", stdout)
	}
	w.run(0, strings.NewReader("\xff\x00\n"), "send", "--as", "alice", "--to", "bob")
	got := parseLines[printedMessage](t, strings.Join(l.take(2), "\n"))
	m := got[0]
	if m.Pos != 1 || m.Seq != 1 || m.ID != sent[0].ID || m.Sender != "alice" || m.SenderDevice != "desktop" ||
		m.Conversation != "alice\x1fbob" || !m.Time.Equal(*sent[0].Time) || m.Text == nil || *m.Text != text || m.Payload != nil {
		t.Errorf("listen printed %+v", m)
	}
	if m = got[1]; m.Text != nil || string(m.Payload) != "\xff\x00" {
		t.Errorf("listen printed %+v", m)
	}
}

// A line that the server refuses does not keep the others: they are stored, and the exit code tells.
func TestSendThatIsRefused(t *testing.T) {
	w := newWorld(t)
	l := w.listen("--as", "bob", "--device", "phone")
	input := "one\n" + strings.Repeat("x", 40<<10) + "\ntwo\n"
	stdout, stderr := w.run(exitRefused, strings.NewReader(input), "send", "--as", "alice", "--to", "bob", "-o", "json")
	if !strings.Contains(stderr, "line 2 was not stored") || !strings.Contains(stderr, "2 stored, 1 refused, 0 unanswered") {
		t.Errorf("send said %s", stderr)
	}
	var codes []string
	for _, p := range parseLines[printedSent](t, stdout) {
		code := "stored"
		if p.Error != nil {
			code = p.Error.Code
		}
		codes = append(codes, fmt.Sprint(p.Line, code))
	}
	slices.Sort(codes)
	if want := []string{"1stored", "2" + protocol.CodePayloadTooLarge.String(), "3stored"}; !slices.Equal(codes, want) {
		t.Errorf("send printed %v", codes)
	}
	if got := l.take(2); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the listener printed %q", got)
	}
	if _, stderr := w.run(exitRefused, nil, "send", "--as", "alice", "--group", "nobody's", "hi"); !strings.Contains(stderr, "NO_SUCH_GROUP") {
		t.Errorf("a group that is not there: %s", stderr)
	}
	if _, stderr := w.run(exitFailed, strings.NewReader("x\n"+strings.Repeat("x", 70<<10)), "send", "--as", "alice", "--to", "bob"); !strings.Contains(stderr, "1 stored, 0 refused, 0 unanswered: line 2: it is longer than any server takes, which is 61440 bytes") {
		t.Errorf("a line that no server takes: %s", stderr)
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	w := newWorld(t)
	there := w.addr
	w.addr = "tcp4://" + redistest.FreeAddr(t)
	for _, args := range []string{
		"send --as alice --to bob --timeout 1s hi",
		"listen --as bob --timeout 1s",
		"listen --as bob --timeout 1s --count 1",
	} {
		w.until(args+" says what is wrong", func() bool { // on a busy machine a second may be too short for the first try
			_, stderr := w.run(exitUnreached, nil, strings.Fields(args)...)
			return strings.Contains(stderr, "connection refused; is lifelined running there?")
		})
	}
	w.addr += "," + there
	w.run(0, nil, "send", "--as", "alice", "--to", "bob", "the next host is tried")
}

func TestTokensAtTheDoor(t *testing.T) {
	key := filepath.Join(t.TempDir(), "2026.pem")
	if code, _, stderr := here(t, nil, "", "token", "--new-key", key); code != 0 {
		t.Fatal(stderr)
	}
	w := newWorld(t, "--auth-mode", "jwt", "--auth-key", "2026:EdDSA:"+key+".pub")
	if _, stderr := w.run(exitRefused, nil, "send", "--as", "alice", "--to", "bob", "hi"); !strings.Contains(stderr, "BAD_TOKEN") {
		t.Errorf("a development token: %s", stderr)
	}
	if _, stderr := w.run(exitRefused, nil, "listen", "--as", "bob", "--device", "phone"); !strings.Contains(stderr, "BAD_TOKEN") {
		t.Errorf("a development token: %s", stderr)
	}
	for _, wrong := range []string{"--kid", "--audience"} { // another token would be as wrong
		_, stderr := w.run(exitRefused, nil, "send", "--as", "alice", "--key", key, wrong, "other", "--to", "bob", "--timeout", "1h", "hi")
		if !strings.Contains(stderr, "BAD_TOKEN") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("a token with another %s: %s", wrong, stderr)
		}
	}
	l := w.listen("--as", "bob", "--device", "phone", "--key", key)
	token, _ := w.run(0, nil, "token", "--key", key, "--sub", "alice")
	w.run(0, nil, "send", "--token", strings.TrimSpace(token), "--to", "bob", "signed")
	if got := l.take(1); got[0] != "signed" {
		t.Errorf("the listener printed %q", got)
	}
}

func TestFramesAreTraced(t *testing.T) {
	w := newWorld(t)
	_, stderr := w.run(0, nil, "send", "--as", "alice", "--to", "bob", "--trace", "hi")
	for _, want := range []string{"> connect version=1 token=<9>", "< connack ", "> send id=1 to_user=\"bob\"", "< sendack id=1 seq=1", "> bye reason=logout", "< close status={code=LOGGED_OUT"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not in the trace:\n%s", want, stderr)
		}
	}
}
