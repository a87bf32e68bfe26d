package loadtest

import (
	"testing"
	"unsafe"

	"lifeline/protocol"
)

// discard is a connection that keeps nothing.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

// messages is a talk without end whose server is a few buffers.
type messages struct {
	*talk
	number  uint64
	data    []byte
	payload []byte
	sendack protocol.Sendack
	pushed  protocol.Push
}

func newMessages(t testing.TB, rate float64) *messages {
	k := newTalk(t, 4, 2, rate)
	for _, d := range k.devices {
		d.conn = discard{}
	}
	k.traffic.start(k.now, 1<<60)
	k.pass(10)
	return &messages{talk: k, payload: newPayload(64), sendack: protocol.Sendack{MessageID: make([]byte, 16)},
		pushed: protocol.Push{Entries: make([]protocol.Entry, 1)}}
}

// next is one message with all that belongs to it: its Sendack, in two parts, the Send that this calls for, a Push to each
// of three devices, their Acks now and then, and a tick.
func (m *messages) next() {
	m.number++
	m.now += 10 * millisecond
	m.sendack.ID, m.sendack.Seq = m.number, m.number
	m.data = m.sendack.Append(m.data[:0])
	m.loop.arrived(m.devices[senderPlace], m.data[:9])
	m.loop.arrived(m.devices[senderPlace], m.data[9:])
	writeHead(m.payload, m.pair.writer, m.number, m.now)
	m.pushed.Entries[0] = protocol.Entry{Pos: 7 + m.number, Kind: protocol.EntryMessage, Message: protocol.Message{
		Seq: m.number, ClientID: m.payload[:clientIDBytes], Payload: m.payload, HasPayload: true}}
	m.data = m.pushed.Append(m.data[:0])
	for _, d := range m.devices {
		m.loop.arrived(d, m.data)
	}
	m.loop.tick()
}

func TestAMessageAllocatesNothing(t *testing.T) {
	for _, rate := range []float64{0, 1e6} {
		m := newMessages(t, rate)
		for range 100 {
			m.next()
		}
		if n := testing.AllocsPerRun(1000, m.next); n != 0 {
			t.Errorf("rate %v: %v allocations a message", rate, n)
		}
		if got := m.traffic.faults(); got != (Faults{}) || m.traffic.figures.pushed != 2*m.number {
			t.Errorf("rate %v: this is not what a run does: %v, %d pushed", rate, &got, m.traffic.figures.pushed)
		}
	}
}

// BenchmarkMessage is what a message to two devices costs this client beside its system calls.
func BenchmarkMessage(b *testing.B) {
	m := newMessages(b, 0)
	b.ReportAllocs()
	for b.Loop() {
		m.next()
	}
}

func TestADeviceIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(device{}); size > 128 {
		t.Errorf("a device has %d bytes, want at most 128", size)
	}
}
