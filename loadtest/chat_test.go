package loadtest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"lifeline/protocol"
)

// shortChat is a run of a fraction of a second. Only what never ends makes it wait.
func shortChat(target Target) *Chat {
	return &Chat{Target: target, Pairs: 4, Devices: 1, Window: 4, Size: 64, Warmup: 20 * time.Millisecond,
		Duration: 200 * time.Millisecond, Finish: patience}
}

// longer runs a chat on a machine that may be too busy for a short one: for longer, and with a new server each time, until
// there was enough in it.
func longer(t *testing.T, set func(s *stub), chat func(target Target) *Chat, enough func(s *stub, r *ChatReport) bool) *ChatReport {
	t.Helper()
	for duration := 200 * time.Millisecond; ; duration *= 4 {
		s := serveStub(t, set)
		o := chat(s.target())
		o.Duration = duration
		if r := runChat(t, o); enough(s, r) || duration > patience {
			return r
		}
	}
}

func runChat(t *testing.T, o *Chat) *ChatReport {
	t.Helper()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	r, err := o.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAChatWithAnHonestServer(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(o *Chat)
	}{
		{"closed", func(*Chat) {}},
		{"two devices", func(o *Chat) { o.Devices = 2 }},
		{"at a rate", func(o *Chat) { o.Rate, o.Window = 500, 64 }},
		{"large payloads", func(o *Chat) { o.Size = 20_000 }},
		{"fewer pairs than loops", func(o *Chat) { o.Pairs = 1 }},
		{"two sources", func(o *Chat) { o.Sources = []string{"127.0.0.1", "127.0.0.2"} }},
	} {
		o := shortChat(Target{})
		tt.set(o)
		r := longer(t, nil, func(target Target) *Chat {
			o.Server, o.Loops = target.Server, target.Loops
			return o
		}, func(_ *stub, r *ChatReport) bool { return r.Push.Count > 0 && r.SendsPerSecond > 0 })
		if err := r.Fault(); err != nil || r.Faults != (Faults{}) {
			t.Errorf("%s: %v, %v", tt.name, err, &r.Faults)
		}
		connections := uint64(o.Pairs * (1 + o.Devices))
		if r.Stored == 0 || r.Sent != r.Stored || r.Pushed != r.Stored*uint64(o.Devices) || r.Connections.Connected != connections {
			t.Errorf("%s: %d sent, %d stored, %d pushed, %d connected", tt.name, r.Sent, r.Stored, r.Pushed, r.Connections.Connected)
		}
		if r.Sendack.Count == 0 || r.Push.Count == 0 || r.Sendack.Max <= 0 || r.SendsPerSecond <= 0 || r.ClientCPU <= 0 {
			t.Errorf("%s: nothing was measured:\n%s", tt.name, r.Text())
		}
		if later := r.PushLater; (later != nil) != (o.Devices == 2) || later != nil && later.Count != r.Sendack.Count {
			t.Errorf("%s: the later of the devices: %+v", tt.name, later)
		}
	}
}

// Each server breaks a promise once, at the tenth entry, and the report must tell which.
func TestAChatWithALyingServer(t *testing.T) {
	same := func(e protocol.Entry) []stubPush { return []stubPush{{entry: e}} }
	at := func(lie func(e protocol.Entry) []stubPush) func(int, protocol.Entry) []stubPush {
		return func(n int, e protocol.Entry) []stubPush {
			if n == 10 {
				return lie(e)
			}
			return same(e)
		}
	}
	var late []stubPush
	for _, tt := range []struct {
		name  string
		pairs int
		route func(n int, e protocol.Entry) []stubPush
		want  Faults
		fault error
	}{
		{"it loses a message", 4, at(func(protocol.Entry) []stubPush { return nil }), Faults{Lost: 1, Holes: 1}, ErrWrong},
		{"it swaps two messages", 1, func(n int, e protocol.Entry) []stubPush {
			switch n {
			case 10:
				late = same(e)
				return nil
			case 11:
				return append(same(e), late...)
			}
			return same(e)
		}, Faults{OutOfOrder: 1, Holes: 1}, ErrWrong},
		{"it pushes twice", 4, at(func(e protocol.Entry) []stubPush { return append(same(e), same(e)...) }), Faults{Duplicates: 1}, nil},
		{"it stores twice", 4, at(func(e protocol.Entry) []stubPush {
			again := e
			again.Pos++
			return append(same(e), same(again)...)
		}), Faults{StoredTwice: 1}, ErrWrong},
		{"it changes a payload", 4, at(func(e protocol.Entry) []stubPush {
			e.Message.Payload = bytes.ToUpper(e.Message.Payload)
			return same(e)
		}), Faults{Damaged: 1, Lost: 1}, ErrWrong},
	} {
		r := longer(t, func(s *stub) { s.route = tt.route }, func(target Target) *Chat {
			o := shortChat(target)
			o.Pairs = tt.pairs
			if tt.want.Lost > 0 {
				o.Finish = 3 * time.Second // without anything new; what is lost never comes
			}
			return o
		}, passedTheTenth)
		if err := r.Fault(); !errors.Is(err, tt.fault) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.fault)
		}
		if r.Faults != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, &r.Faults, &tt.want)
		}
	}
}

// passedTheTenth tells whether a stub has come to what it does wrong, and beyond.
func passedTheTenth(s *stub, r *ChatReport) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.puts > 11 || len(r.Connections.Refused) > 0
}

func TestAChatWithAServerThatRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		set    func(s *stub)
		fault  error
		errors string
		says   string
	}{
		{"busy for a while", func(s *stub) {
			s.answer = func(n int) protocol.Code {
				if n == 10 {
					return protocol.CodeOutOfOrder // again at once
				}
				return 0
			}
		}, nil, "OUT_OF_ORDER 1", ""},
		{"a message for good", func(s *stub) {
			s.answer = func(n int) protocol.Code {
				if n == 10 {
					return protocol.CodeNotMember
				}
				return 0
			}
		}, ErrRefused, "NOT_MEMBER 1", "NOT_MEMBER 1"},
		{"a log-in", func(s *stub) {
			s.refuse = func(user string) protocol.Code {
				if strings.HasSuffix(user, "to-0000002") {
					return protocol.CodeBadToken
				}
				return 0
			}
		}, ErrRefused, "", "BAD_TOKEN 1"},
		{"it hangs up", func(s *stub) {
			s.route = func(n int, e protocol.Entry) []stubPush { return []stubPush{{entry: e, hang: n == 10}} }
		}, ErrIncomplete, "", "connections were lost"},
	} {
		r := longer(t, tt.set, func(target Target) *Chat {
			o := shortChat(target)
			o.Window = 1 // what follows a refused message in the window the stub would store before it
			return o
		}, passedTheTenth)
		if err := r.Fault(); !errors.Is(err, tt.fault) || tt.says != "" && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %v, %q", tt.name, err, tt.fault, tt.says)
		}
		if got := r.Errors.String(); got != tt.errors {
			t.Errorf("%s: errors %q, want %q", tt.name, got, tt.errors)
		}
	}
}

func TestAChatThatIsInterrupted(t *testing.T) {
	s := serveStub(t, nil)
	o := shortChat(s.target())
	o.Duration = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	r, err := o.Run(ctx, func(p Progress) {
		if p.Phase == "measuring" && !strings.HasPrefix(p.Detail, "0 ") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	if err := r.Fault(); err != nil || r.Stored == 0 || r.DurationS > patience.Seconds() {
		t.Errorf("%v\n%s", err, r.Text())
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r := runChat(t, shortChat(Target{Server: "tcp4://" + l.Addr().String()}))
	if err := r.Fault(); !errors.Is(err, ErrUnreached) || !strings.Contains(err.Error(), "NOBODY_LISTENS 8") {
		t.Errorf("got %v", err)
	}
}

func TestOptionsOfAChat(t *testing.T) {
	good := *shortChat(Target{Server: "tcp4://127.0.0.1:7400"})
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		set  func(o *Chat)
		want []string
	}{
		{func(o *Chat) { o.Server = "udp://127.0.0.1:7400" }, []string{"server is"}},
		{func(o *Chat) { o.Server = "tcp4://127.0.0.1" }, []string{"server is"}},
		{func(o *Chat) { o.Sources = []string{"localhost"} }, []string{"source is"}},
		{func(o *Chat) { o.Loops = -1 }, []string{"loops is -1"}},
		{func(o *Chat) { o.Pairs = 0 }, []string{"at least one connection"}},
		{func(o *Chat) { o.Pairs = 1 << 30 }, []string{"ulimit -n"}},
		{func(o *Chat) { o.Devices, o.Window, o.Rate = 3, 65, -1 }, []string{"devices is 3", "window is 65", "rate is -1"}},
		{func(o *Chat) { o.Size = 23 }, []string{"size is 23"}},
		{func(o *Chat) { o.Duration, o.Finish = 0, 0 }, []string{"duration", "finish"}},
	} {
		o := good
		tt.set(&o)
		err := o.Validate()
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v lacks %q", err, want)
			}
		}
	}
}
