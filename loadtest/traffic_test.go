package loadtest

import (
	"bytes"
	"fmt"
	"testing"

	"lifeline/protocol"
)

// talk is one pair on a bench, and a server that the test plays: it answers Sends when it is told to.
type talk struct {
	*bench
	traffic *traffic
	pair    *pair
	devices []*device
	wires   []*wire
	sends   []protocol.Send // not answered yet
	seq     uint64
}

func newTalk(t testing.TB, window, receivers int, rate float64) *talk {
	k := &talk{bench: newBench(t)}
	k.traffic = &traffic{loop: k.loop, window: window, payload: newPayload(64)}
	if rate > 0 {
		k.traffic.gap = second / rate
	}
	k.loop.work = k.traffic.work
	k.pair = &pair{traffic: k.traffic, writer: 99, to: []byte("bob"), devices: 1 + receivers, out: newOutbox()}
	k.traffic.pairs = []*pair{k.pair}
	for place := range 1 + receivers {
		d := &device{role: k.pair, place: uint8(place)}
		w := k.open(d)
		k.give(d, connack())
		k.devices, k.wires = append(k.devices, d), append(k.wires, w)
		w.said()
	}
	k.pair.sender = k.devices[senderPlace]
	return k
}

// read takes what the sender has written and returns how many Sends there were.
func (k *talk) read() (n int) {
	w := k.wires[senderPlace]
	for rest := w.out; len(rest) > 0; {
		kind, body, after, _, err := split(rest)
		if err != nil {
			k.t.Fatal(err)
		}
		if rest = after; kind != protocol.TypeSend {
			continue
		}
		var f protocol.Send
		if err := f.Parse(bytes.Clone(body)); err != nil {
			k.t.Fatal(err)
		}
		k.sends = append(k.sends, f)
		n++
	}
	w.out = w.out[:0]
	return n
}

// store answers the first unanswered Send and returns the entry that it makes.
func (k *talk) store() protocol.Entry {
	k.t.Helper()
	f := k.sends[0]
	k.sends = k.sends[1:]
	k.seq++
	m := protocol.Message{Conversation: []byte("c"), Seq: k.seq, MessageID: make([]byte, 16), Sender: []byte("alice"), Payload: f.Payload, HasPayload: true}
	k.give(k.devices[senderPlace], &protocol.Sendack{ID: f.ID, Seq: k.seq, MessageID: m.MessageID})
	k.read()
	m.ClientID = f.ClientID
	return protocol.Entry{Pos: 7 + k.seq, Kind: protocol.EntryMessage, Message: m}
}

// push brings an entry to a device.
func (k *talk) push(place int, e protocol.Entry) {
	if place != senderPlace {
		e.Message.ClientID = nil
	} else {
		e.Message.Payload, e.Message.HasPayload = nil, false
	}
	k.give(k.devices[place], &protocol.Push{Entries: []protocol.Entry{e}})
}

func TestAPairKeepsItsWindowFull(t *testing.T) {
	k := newTalk(t, 4, 1, 0)
	if k.pass(100); k.read() != 0 {
		t.Fatal("it sent before the start")
	}
	k.traffic.start(k.now, k.now+second)
	k.read()
	for range 10 {
		if len(k.sends) != 4 {
			t.Fatalf("%d unanswered, want 4", len(k.sends))
		}
		e := k.store()
		k.push(0, e)
		k.push(1, e)
	}
	k.now = k.traffic.until
	for len(k.sends) > 0 {
		e := k.store()
		k.push(0, e)
		k.push(1, e)
	}
	f := &k.traffic.figures
	if f.sent != 14 || f.stored != 14 || f.pushed != 14 || f.storedInSpan != 10 || f.pushedInSpan != 10 || f.sendack.n != 14 {
		t.Errorf("sent %d, stored %d (%d in the span), pushed %d (%d), measured %d", f.sent, f.stored, f.storedInSpan, f.pushed, f.pushedInSpan, f.sendack.n)
	}
	if got := k.traffic.faults(); got != (Faults{}) {
		t.Errorf("faults: %v", &got)
	}
	if r := k.traffic.rest(); r != (rest{}) {
		t.Errorf("rest: %+v", r)
	}
}

func TestAServerMayWantASmallerWindow(t *testing.T) {
	b := newBench(t)
	tr := &traffic{loop: b.loop, window: 4}
	for limit, want := range []int{4, 1, 2, 3, 4, 4} { // 0: it names none
		p := &pair{traffic: tr, out: newOutbox()}
		d := &device{role: p, place: senderPlace}
		b.open(d)
		f := connack()
		f.Limits.UnansweredSends = uint32(limit)
		b.give(d, f)
		if p.window != want {
			t.Errorf("limit %d: window %d, want %d", limit, p.window, want)
		}
	}
}

// Only what was due in the span is measured, however late it comes.
func TestTheSpanCountsByWhenAMessageWasDue(t *testing.T) {
	k := newTalk(t, 1, 1, 0)
	k.traffic.start(k.now+100*millisecond, k.now+200*millisecond)
	k.read()
	for _, step := range []struct {
		wait             int64 // ms until the answer
		measured, inSpan uint64
	}{{50, 0, 0}, {100, 0, 1}, {20, 1, 2}, {100, 2, 2}} {
		k.now += step.wait * millisecond
		k.push(1, k.store())
		f := &k.traffic.figures
		if f.sendack.n != step.measured || f.push.n != step.measured || f.storedInSpan != step.inSpan {
			t.Errorf("after %d ms: %d and %d measured, %d in the span; want %d, %d", step.wait, f.sendack.n, f.push.n, f.storedInSpan, step.measured, step.inSpan)
		}
	}
	if k.read(); len(k.sends) != 0 {
		t.Errorf("%d sent after the end", len(k.sends))
	}
	if got := k.traffic.figures.sendack.max; got != 100*millisecond {
		t.Errorf("the longest took %d", got)
	}
}

func TestTheLaterOfTwoDevices(t *testing.T) {
	k := newTalk(t, 4, 2, 0)
	k.traffic.start(k.now, k.now+second)
	k.read()
	first, second := k.store(), k.store()
	steps := []struct {
		place int
		e     protocol.Entry
	}{{1, first}, {1, second}, {2, first}, {2, second}}
	for _, s := range steps {
		k.now += 10 * millisecond
		k.push(s.place, s.e)
	}
	f := &k.traffic.figures
	if f.push.n != 4 || f.pushLater.n != 2 || f.pushLater.max != 40*millisecond || f.pushLater.quantile(0.5) < 30*millisecond {
		t.Errorf("pushed %d, later %d, max %d", f.push.n, f.pushLater.n, f.pushLater.max)
	}
	if r := k.traffic.rest(); r.unpushed != 2 || !r.waiting { // the sender's own entries
		t.Errorf("rest: %+v", r)
	}
}

// At a rate, what has to wait for a server that stands still was due all the same, and its wait is measured.
func TestARateOmitsNothing(t *testing.T) {
	k := newTalk(t, 2, 1, 100) // 0.5 of the random part: every 6.93 ms
	k.traffic.start(k.now, k.now+second)
	if k.pass(100); k.read() != 2 {
		t.Fatalf("%d sent while the server stood still, want the window", len(k.sends))
	}
	k.pass(800) // no answer for 900 ms; about 129 messages are due by now
	if n := k.read(); n != 0 {
		t.Fatalf("%d sent beyond the window", n)
	}
	for range 2 { // what has waited, then what is due until the end
		for len(k.sends) > 0 {
			k.push(1, k.store())
		}
		k.pass(200)
		k.read()
	}
	f := &k.traffic.figures
	due := uint64(144) // a second of them
	if f.sendack.n < due-2 || f.sendack.n > due+2 {
		t.Errorf("%d measured, want %d", f.sendack.n, due)
	}
	if p50 := f.sendack.quantile(0.5); p50 < 300*millisecond || p50 > 500*millisecond {
		t.Errorf("p50 is %d ms; those due in the 900 ms without an answer waited 450 on average", p50/millisecond)
	}
	if r := k.traffic.rest(); r.unanswered != 0 || r.unpushed != f.stored {
		t.Errorf("rest: %+v", r)
	}
}

func TestRefusedMessagesGoAgain(t *testing.T) {
	k := newTalk(t, 3, 1, 0)
	k.traffic.start(k.now, k.now+second)
	k.read()
	busy, behind := protocol.CodeBusy.Status(), protocol.CodeOutOfOrder.Status()
	k.give(k.devices[0], &protocol.Sendack{ID: 1, Status: busy}, &protocol.Sendack{ID: 2, Status: behind},
		&protocol.Error{ID: 3, Status: behind, FrameType: uint32(protocol.TypeSend)})
	before := k.sends
	k.sends = nil
	if k.pass(400); k.read() != 0 {
		t.Fatal("it sent again before the time the server named")
	}
	k.pass(2000)
	if k.read(); len(k.sends) != 3 {
		t.Fatalf("%d went again", len(k.sends))
	}
	for i, f := range k.sends {
		if f.ID != uint64(4+i) || !bytes.Equal(f.ClientID, before[i].ClientID) || !bytes.Equal(f.Payload, before[i].Payload) {
			t.Errorf("message %d went again as another one", i)
		}
	}
	if got, want := k.loop.counts.errors.String(), "OUT_OF_ORDER 2, BUSY 1"; got != want {
		t.Errorf("errors: %q, want %q", got, want)
	}
}

func TestDamage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		place  int
		damage func(m *protocol.Message)
	}{
		{"a payload of another size", 1, func(m *protocol.Message) { m.Payload = m.Payload[:30] }},
		{"a byte of the filling", 1, func(m *protocol.Message) { m.Payload[40]++ }},
		{"another pair's", 1, func(m *protocol.Message) { m.Payload[0]++ }},
		{"no payload", 1, func(m *protocol.Message) { m.Payload, m.HasPayload = nil, false }},
		{"own, another client id", 0, func(m *protocol.Message) { m.ClientID = bytes.Repeat([]byte("x"), 16) }},
		{"own, no client id", 0, func(m *protocol.Message) { m.ClientID = nil }},
	} {
		k := newTalk(t, 1, 1, 0)
		k.traffic.start(k.now, k.now+second)
		k.read()
		e := k.store()
		tt.damage(&e.Message)
		k.push(tt.place, e)
		if got := k.traffic.faults(); got.Damaged != 1 {
			t.Errorf("%s: %v", tt.name, &got)
		}
	}
}

// What a lost connection had not seen is not lost: nobody can tell.
func TestALostConnectionProvesNothing(t *testing.T) {
	for place, want := range []rest{
		senderPlace: {unanswered: 3, unpushed: 1, unproven: 1, waiting: true},
		1:           {unanswered: 3, unpushed: 1, unproven: 1, waiting: true},
	} {
		k := newTalk(t, 3, 1, 0)
		k.traffic.start(k.now, k.now+second)
		k.read()
		k.store()
		k.loop.closed(k.devices[place], nil)
		if got := k.traffic.rest(); got != want {
			t.Errorf("%s: %+v, want %+v", fmt.Sprintf("place %d", place), got, want)
		}
		if got := k.traffic.faults(); got.Lost != 1 { // for the device that is there
			t.Errorf("place %d: %v", place, &got)
		}
	}
}
