package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"lifeline/loadtest"
	"lifeline/server/route/redistest"
)

// call runs one command line.
func call(ctx context.Context, server string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = execute(ctx, surroundings{server, &out, &err}, args)
	return code, out.String(), err.String()
}

func decode[R any](t *testing.T, text string) (r R) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

func TestChatWithTheRealServer(t *testing.T) {
	s := serve(t)
	for _, args := range []string{
		"",
		"--devices 2 --loops 1",
		"--rate 400 --size 1000",
		"--window 64 --size 24 --source 127.0.0.2",
	} {
		args := append(strings.Fields("chat --pairs 8 --warmup 50ms -o json"), strings.Fields(args)...)
		var r loadtest.ChatReport
		for duration := 300 * time.Millisecond; r.SendsPerSecond == 0 && duration < patience; duration *= 4 { // a busy machine needs longer
			code, stdout, stderr := call(t.Context(), s.addr, append(args, "--duration", duration.String())...)
			if code != 0 || stderr != "" {
				t.Fatalf("%v: code %d, %s%s", args, code, stderr, stdout)
			}
			r = decode[loadtest.ChatReport](t, stdout)
		}
		if r.Stored == 0 || r.Pushed != r.Stored*uint64(r.Devices) || r.SendsPerSecond <= 0 || r.Sendack.P99 <= 0 || r.Push.P99 <= 0 {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func TestIdleWithTheRealServer(t *testing.T) {
	s := serve(t)
	args := strings.Fields("idle --connections 200 --rate 0 --hold 100ms --activity foreground -o json")
	for range 2 { // the users come again
		code, stdout, stderr := call(t.Context(), s.addr, args...)
		if code != 0 || stderr != "" {
			t.Fatalf("code %d, %s%s", code, stderr, stdout)
		}
		if r := decode[loadtest.IdleReport](t, stdout); r.Connections.Connected != 200 || len(r.Connections.Lost) != 0 {
			t.Errorf("got %s", stdout)
		}
	}
}

// The server dies while pairs talk: the report comes all the same, and says that the run is not whole.
func TestTheServerIsKilled(t *testing.T) {
	s := serve(t)
	var killing sync.WaitGroup
	defer killing.Wait()
	killing.Go(func() {
		s.shows(t, `lifeline_frames_total\{direction="in",type="send"\} [1-9]`)
		s.kill()
	})
	code, stdout, stderr := call(t.Context(), s.addr, strings.Fields("chat --pairs 8 --warmup 0s --duration 1h --finish 100ms -o json")...)
	if code != exitFailed || !strings.Contains(stderr, "connections were lost") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if r := decode[loadtest.ChatReport](t, stdout); r.Wrong() || len(r.Connections.Lost) == 0 {
		t.Errorf("got %s", stdout)
	}
}

func TestNobodyListens(t *testing.T) {
	code, stdout, stderr := call(t.Context(), "tcp4://"+redistest.FreeAddr(t), "chat", "--pairs", "2")
	if code != exitUnreached || !strings.Contains(stderr, "NOBODY_LISTENS 4; is lifelined running there?") || !strings.Contains(stdout, "0 of 4") {
		t.Errorf("code %d, %s%s", code, stderr, stdout)
	}
	if _, stdout, _ := call(t.Context(), "tcp4://"+redistest.FreeAddr(t), "idle", "--connections", "2", "--hold", "0s"); strings.Contains(stdout, "bytes per connection") {
		t.Errorf("memory of connections that were not made: %s", stdout)
	}
}

func TestAnInterruptedRunReports(t *testing.T) {
	s := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	var interrupting sync.WaitGroup
	defer interrupting.Wait()
	interrupting.Go(func() {
		s.shows(t, "lifeline_sessions 5")
		cancel()
	})
	code, stdout, stderr := call(ctx, s.addr, strings.Fields("idle --connections 5 --rate 0 --hold 1h")...)
	if code != exitInterrupted || !strings.Contains(stderr, "interrupted") || !strings.Contains(stdout, " of 5") {
		t.Errorf("code %d, %s%s", code, stderr, stdout)
	}
}

func TestUsageFaults(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"", []string{"a command is missing"}},
		{"storm", []string{`unknown command "storm"; lifelineload --help says`}},
		{"storm --pairs 5", []string{`unknown command "storm"; lifelineload --help says`}},
		{"chat --pears 5", []string{"--pears"}},
		{"chat now", []string{"now"}},
		{"chat --window 65 --size 1 -o xml", []string{"window is 65", "size is 1", `output is "xml"`}},
		{"idle --activity asleep", []string{"asleep"}},
		{"idle --connections 0 --server 127.0.0.1", []string{"at least one connection", `server is "127.0.0.1"`}},
		{"idle --server ws://127.0.0.1:7400", []string{"tcp4://host:port"}},
		{"simulate heartbeat --clients -1 --days 366 --seeds 3,1,3", []string{"clients is -1", "days is 366", "seed 3 is given twice"}},
	} {
		code, _, stderr := call(t.Context(), localServer, strings.Fields(tt.args)...)
		if code != exitUsage {
			t.Errorf("%q: code %d", tt.args, code)
		}
		for _, want := range tt.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%q: %q lacks %q", tt.args, stderr, want)
			}
		}
	}
}

func TestHelpHasExamples(t *testing.T) {
	for _, args := range []string{"--help", "chat --help", "idle --help", "simulate --help", "simulate heartbeat --help"} {
		code, stdout, _ := call(t.Context(), localServer, strings.Fields(args)...)
		if code != 0 || !strings.Contains(stdout, "Examples:\n  lifelineload") {
			t.Errorf("%s: code %d, %s", args, code, stdout)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything"), exitFailed},
		{loadtest.ErrIncomplete, exitFailed},
		{usage(errors.New("anything")), exitUsage},
		{fmt.Errorf("%w log-ins", loadtest.ErrRefused), exitRefused},
		{fmt.Errorf("%w: x", loadtest.ErrUnreached), exitUnreached},
		{fmt.Errorf("%w: x", loadtest.ErrWrong), exitWrong},
		{errors.Join(loadtest.ErrWrong, errInterrupted), exitWrong},
		{errors.Join(loadtest.ErrIncomplete, errInterrupted), exitInterrupted},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
	for code := range 6 {
		if !strings.Contains(exitCodes, fmt.Sprintf("\n  %d  ", code)) && code != 0 {
			t.Errorf("the help does not tell of code %d", code)
		}
	}
}

func TestTheProgressLine(t *testing.T) {
	for _, tt := range []struct {
		at   loadtest.Progress
		want string
	}{
		{loadtest.Progress{Phase: "measuring", Part: 0.5, Detail: "7 stored"}, "[###############---------------]  50%  measuring: 7 stored, 3s"},
		{loadtest.Progress{Phase: "holding", Part: 1.5, Detail: "x"}, "[##############################] 100%  holding: x, 3s"},
		{loadtest.Progress{Phase: "finishing", Part: -1, Detail: "x"}, "finishing: x, 3s"},
	} {
		if got := line(3*time.Second+time.Millisecond, tt.at); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	began := time.Unix(1000, 0)
	var out bytes.Buffer
	p := newProgress(&out, began)
	p.show(began.Add(time.Hour), loadtest.Progress{})
	if p.clear(); out.Len() != 0 {
		t.Errorf("to a buffer: %q", out.String())
	}
	p = &progress{w: &out, began: began}
	p.show(began.Add(progressAfter-1), loadtest.Progress{})
	if out.Len() != 0 {
		t.Errorf("too early: %q", out.String())
	}
	p.show(began.Add(progressAfter), loadtest.Progress{Phase: "a"})
	p.show(began.Add(progressAfter+progressEvery-1), loadtest.Progress{Phase: "b"})
	p.show(began.Add(progressAfter+progressEvery), loadtest.Progress{Phase: "c"})
	p.clear()
	if got := out.String(); strings.Count(got, "\r") != 3 || !strings.Contains(got, "a: ") || strings.Contains(got, "b: ") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("got %q", got)
	}
}
