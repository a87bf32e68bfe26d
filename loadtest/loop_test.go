package loadtest

import (
	"fmt"
	"io"
	"testing"

	"lifeline/protocol"
)

func TestADeviceLogsIn(t *testing.T) {
	b := newBench(t)
	b.loop.instance, b.loop.activity = 5, protocol.Background
	d := &device{index: 3}
	w := b.open(d)
	want := `connect version=1 token=<10> device="device-0" instance=0000000000000005 attempt=1 platform=android app_version="lifelineload" activity=background max_payload=61440`
	if got := w.said(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	b.now += 5 * millisecond
	if !b.give(d, connack()) {
		t.Fatal("the connection ended")
	}
	if got, want := w.said(), "ack pos=7"; got != want {
		t.Errorf("after Connack: %q, want %q", got, want)
	}
	c := &b.loop.counts
	if c.connected != 1 || c.connect.max != 5*millisecond {
		t.Errorf("%d connected, %d ns", c.connected, c.connect.max)
	}
}

// Whatever the pieces in which the server's bytes come, the device answers the same, and nothing is kept for it after.
func TestADeviceReadsPieces(t *testing.T) {
	var data []byte
	for _, f := range []protocol.Frame{connack(), &protocol.Probe{}, push(8, 30), &protocol.Pong{Head: 9}, &protocol.Probe{}, push(9, 400)} {
		data = f.Append(data)
	}
	for cut := range len(data) + 1 {
		b := newBench(t)
		d := &device{}
		w := b.open(d)
		w.said()
		if !b.loop.arrived(d, data[:cut]) || !b.loop.arrived(d, data[cut:]) {
			t.Fatalf("cut at %d: the connection ended", cut)
		}
		if got, want := w.said(), "ack pos=7\nprobeack\nprobeack"; got != want {
			t.Fatalf("cut at %d: %q, want %q", cut, got, want)
		}
		if d.part != nil || d.acks.got != 9 {
			t.Fatalf("cut at %d: %d bytes are kept, position %d", cut, len(d.part), d.acks.got)
		}
	}
}

func push(pos uint64, payload int) *protocol.Push {
	m := protocol.Message{Seq: pos, Sender: []byte("alice"), Payload: make([]byte, payload), HasPayload: true}
	return &protocol.Push{Entries: []protocol.Entry{{Pos: pos, Kind: protocol.EntryMessage, Message: m}}}
}

func TestADeviceAcknowledges(t *testing.T) {
	b := newBench(t)
	d := &device{}
	w := b.open(d)
	b.give(d, connack())
	w.said()
	b.give(d, push(8, 1), push(9, 1))
	b.pass(170)
	if got := w.said(); got != "" {
		t.Errorf("before the delay: %q", got)
	}
	b.pass(30)
	if got, want := w.said(), "ack pos=9"; got != want {
		t.Errorf("after the delay: %q, want %q", got, want)
	}
	for pos := uint64(10); pos < 25; pos++ {
		b.give(d, push(pos, 1))
	}
	if got := w.said(); got != "" {
		t.Errorf("after 15 entries: %q", got)
	}
	b.give(d, &protocol.Push{Entries: []protocol.Entry{{Pos: 25, Kind: protocol.EntryVoid, Void: protocol.Void{To: 30}}}})
	if got, want := w.said(), "ack pos=30"; got != want {
		t.Errorf("after 16 entries and more: %q, want %q", got, want)
	}
}

func TestADevicePings(t *testing.T) {
	b := newBench(t)
	d := &device{}
	w := b.open(d)
	b.give(d, connack())
	w.said()
	for _, want := range []int64{30_000, 56_990, 56_990} { // first half of the interval, then 0.95 of it, less half a pass
		var silence int64
		for ; len(w.out) == 0 && silence < 70_000; silence += 10 {
			b.pass(10)
		}
		if got := w.said(); got != "ping" || silence < want || silence > want+20 {
			t.Errorf("after %d ms: %q, want a ping after %d", silence, got, want)
		}
		b.give(d, &protocol.Pong{})
	}
	b.give(d, &protocol.Pong{HasHeartbeat: true, Heartbeat: protocol.Heartbeat{IntervalS: 600}})
	if d.interval != 600 {
		t.Errorf("the interval is %d", d.interval)
	}
	if b.loop.counts.pings != 3 || b.loop.counts.pongs != 4 {
		t.Errorf("%d pings, %d pongs", b.loop.counts.pings, b.loop.counts.pongs)
	}
}

// How connections end, and what is counted: refused before Connack, lost after it, nothing when the run wanted it.
func TestHowDevicesEnd(t *testing.T) {
	for _, tt := range []struct {
		name          string
		frames        []protocol.Frame
		then          func(b *bench, d *device)
		refused, lost string
		closes        bool // this side asks for the end by itself
	}{
		{name: "refused", frames: []protocol.Frame{&protocol.Close{Status: protocol.CodeBadToken.Status()}}, refused: "BAD_TOKEN 1"},
		{name: "closed without a word", then: func(b *bench, d *device) { b.loop.closed(d, io.EOF) }, refused: "EOF 1"},
		{name: "no Connack", then: func(b *bench, _ *device) { b.pass(31_000) }, refused: "NO_CONNACK 1", closes: true},
		{name: "draining", frames: []protocol.Frame{connack(), &protocol.Close{Status: protocol.CodeDraining.Status()}}, lost: "DRAINING 1"},
		{name: "end of file", frames: []protocol.Frame{connack()}, then: func(b *bench, d *device) { b.loop.closed(d, io.EOF) }, lost: "EOF 1"},
		{name: "broken", frames: []protocol.Frame{connack()}, then: func(b *bench, d *device) { b.loop.closed(d, io.ErrClosedPipe) }, lost: "RESET 1"},
		{name: "no Pong", frames: []protocol.Frame{connack()}, then: func(b *bench, _ *device) { b.pass(48_000) }, lost: "NO_PONG 1", closes: true},
		{name: "malformed", frames: []protocol.Frame{connack()}, then: func(b *bench, d *device) { b.loop.arrived(d, []byte{0}) }, lost: "MALFORMED 1"},
		{name: "malformed body", frames: []protocol.Frame{connack()}, then: func(b *bench, d *device) { b.loop.arrived(d, []byte{2, 0x0c, 0xff}) }, lost: "MALFORMED 1"},
		{name: "asked for", frames: []protocol.Frame{connack()}, then: func(b *bench, d *device) {
			b.loop.leave()
			b.give(d, &protocol.Close{Status: protocol.CodeBye.Status()})
		}},
		{name: "at the end of the run", frames: []protocol.Frame{connack()}, then: func(b *bench, d *device) { b.loop.ending = true }},
	} {
		b := newBench(t)
		d := &device{}
		w := b.open(d)
		b.give(d, tt.frames...)
		if tt.then != nil {
			tt.then(b, d)
		}
		if w.closed != tt.closes {
			t.Errorf("%s: closed is %v", tt.name, w.closed)
		}
		b.loop.closed(d, nil) // what comes last must not be counted again
		if c := &b.loop.counts; c.refused.String() != tt.refused || c.lost.String() != tt.lost {
			t.Errorf("%s: refused %v, lost %v; want %q, %q", tt.name, c.refused, c.lost, tt.refused, tt.lost)
		}
	}
}

func TestLeavingAcknowledgesFirst(t *testing.T) {
	b := newBench(t)
	d := &device{}
	w := b.open(d)
	b.give(d, connack(), push(8, 1))
	w.said()
	b.loop.leave()
	if got, want := w.said(), "ack pos=8\nbye reason=logout"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := b.loop.leaving(); n != 1 {
		t.Errorf("%d are leaving", n)
	}
	b.loop.closed(d, io.EOF)
	if n := b.loop.leaving(); n != 0 {
		t.Errorf("%d are leaving after the end", n)
	}
}

func TestStrangeFramesAreCounted(t *testing.T) {
	b := newBench(t)
	d := &device{}
	b.open(d)
	alive := b.give(d, connack(), connack(), &protocol.Pulled{}, &protocol.Error{Status: protocol.CodeUnsupported.Status()}) &&
		b.loop.arrived(d, []byte{1, 0x90}) // may be ignored
	if got, want := b.loop.counts.errors.String(), "UNEXPECTED_FRAME 2, UNSUPPORTED 1"; got != want || !alive {
		t.Errorf("got %q, want %q; alive is %v", got, want, alive)
	}
}

// The sweep sees every device once in a pass, however the ticks fall.
func TestTheSweepSeesAll(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 100} {
		b := newBench(t)
		for i := range n {
			d := &device{index: uint32(i)}
			b.open(d)
			b.give(d, connack(), push(8, 1))
		}
		b.pass(220)
		for i, d := range b.loop.devices {
			if d.acks.acked != 8 {
				t.Errorf("%s: the device's entry is not acknowledged", fmt.Sprintf("%d of %d", i, n))
			}
		}
	}
}
