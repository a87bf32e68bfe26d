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

// A message allocates nothing: not its Send, nor its Sendack, nor its Pushes, nor their Acks, nor the ticks between.
func TestAMessageAllocatesNothing(t *testing.T) {
	for _, rate := range []float64{0, 1e6} {
		k := newTalk(t, 4, 2, rate)
		for _, d := range k.devices {
			d.conn = discard{}
		}
		k.traffic.start(k.now, 1<<60)
		k.pass(10)
		var number uint64
		var data []byte
		sendack, push := &protocol.Sendack{MessageID: make([]byte, 16)}, &protocol.Push{Entries: make([]protocol.Entry, 1)}
		cycle := func() {
			number++
			k.now += 10 * millisecond
			sendack.ID, sendack.Seq = number, number
			data = sendack.Append(data[:0])
			k.loop.arrived(k.devices[0], data[:9])
			k.loop.arrived(k.devices[0], data[9:])
			for _, d := range k.devices {
				payload := newestPayload(k.traffic.payload, number)
				push.Entries[0] = protocol.Entry{Pos: 7 + number, Kind: protocol.EntryMessage, Message: protocol.Message{
					Seq: number, ClientID: payload[:clientIDBytes], Payload: payload, HasPayload: true}}
				data = push.Append(data[:0])
				k.loop.arrived(d, data)
			}
			k.loop.tick()
		}
		for range 100 {
			cycle()
		}
		if n := testing.AllocsPerRun(1000, cycle); n != 0 {
			t.Errorf("rate %v: %v allocations a message", rate, n)
		}
		if got := k.traffic.faults(); got != (Faults{}) || k.traffic.figures.pushed < 2000 {
			t.Errorf("rate %v: the cycle is not what a run does: %v, %d pushed", rate, &got, k.traffic.figures.pushed)
		}
	}
}

var newest [64]byte

// newestPayload is the payload of a message, like the traffic's.
func newestPayload(like []byte, number uint64) []byte {
	b := newest[:]
	copy(b, like)
	writeHead(b, 99, number, 0)
	return b
}

func TestADeviceIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(device{}); size > 128 {
		t.Errorf("a device has %d bytes, want at most 128", size)
	}
}
