package loadtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"lifeline/protocol"
)

// bench is a loop without sockets, in a time that the test moves.
type bench struct {
	t    testing.TB
	now  int64
	loop *loop
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, now: second}
	b.loop = &loop{clock: func() int64 { return b.now }, random: func() float64 { return 0.5 }, pass: 20 * millisecond,
		names: func(d *device) (string, string) {
			return fmt.Sprintf("user-%d", d.index), fmt.Sprintf("device-%d", d.place)
		}}
	return b
}

// wire is a device's connection: it keeps what is written.
type wire struct {
	t      testing.TB
	out    []byte
	closed bool
}

func (w *wire) Write(b []byte) (int, error) {
	w.out = append(w.out, b...)
	return len(b), nil
}

func (w *wire) Close() error {
	w.closed = true
	return nil
}

// said is what was written since the last call, in text form.
func (w *wire) said() string {
	w.t.Helper()
	var lines []string
	for rest := w.out; len(rest) > 0; {
		kind, body, after, size, err := split(rest)
		if err != nil || len(rest) < size || size == 0 {
			w.t.Fatalf("not whole frames: %x, %v", rest, err)
		}
		f := protocol.New(kind)
		if err := f.Parse(body); err != nil {
			w.t.Fatal(err)
		}
		lines = append(lines, string(f.AppendText(nil)))
		rest = after
	}
	w.out = w.out[:0]
	return strings.Join(lines, "\n")
}

// open connects a device up to its Connect.
func (b *bench) open(d *device) *wire {
	w := &wire{t: b.t}
	d.dialled = b.now
	b.loop.opened(d, w)
	return w
}

// give brings frames to a device, in one read, and tells whether its connection lives.
func (b *bench) give(d *device, frames ...protocol.Frame) bool {
	var data []byte
	for _, f := range frames {
		data = f.Append(data)
	}
	return b.loop.arrived(d, data)
}

// pass lets time pass, with a tick every 10 ms.
func (b *bench) pass(ms int64) {
	for range ms / 10 {
		b.now += 10 * millisecond
		b.loop.tick()
	}
}

// connack is what a server of these tests answers first.
func connack() *protocol.Connack {
	return &protocol.Connack{Epoch: make([]byte, 16), Head: 7, Start: 7, Reset: true, PushWindow: 64,
		Heartbeat: protocol.Heartbeat{IntervalS: 60}, Limits: protocol.Limits{AckDelayMs: 200, AckEvery: 16}}
}

// patience is longer than any of these tests.
const patience = 30 * time.Second

// roleVariable turns this test binary into a client of its own process.
const roleVariable = "LOADTEST_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case "idle":
		holdIdle(os.Args[1])
	default:
		fmt.Fprintln(os.Stderr, "unknown role", role)
		os.Exit(2)
	}
}

// idleConnections is how many the process of role "idle" holds.
const idleConnections = 8000

// holdIdle holds idle connections to a server and prints the report. A smaller run before, as fast as it can, takes what
// every process takes once: also for as many dials at once as there may ever be.
func holdIdle(server string) {
	for _, o := range []*Idle{{Connections: 2000}, {Connections: idleConnections, Rate: 4000}} {
		o.Target, o.Users = Target{Server: server, Loops: 2}, "idle"
		r, err := o.Run(context.Background(), nil)
		if err == nil {
			err = r.Fault()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = json.NewEncoder(os.Stdout).Encode(r) // the parent fails on what it cannot read
	}
}
