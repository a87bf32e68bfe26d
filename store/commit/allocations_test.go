package commit

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"lifeline/store"
)

// nowhere is an engine that keeps nothing but the store's own record.
type nowhere struct{ bytes int }

func (n *nowhere) Commit(_ context.Context, batch []store.PartitionOps) error {
	for _, p := range batch {
		for _, op := range p.Ops {
			n.bytes += len(op.Key) + len(op.Value)
		}
	}
	return nil
}

func (n *nowhere) Get(dst, key []byte) ([]byte, bool, error) {
	if string(key) != string(metaKey()) {
		return dst, false, nil
	}
	m := Meta{Boot: 1}
	return m.append(dst), true, nil
}

func (n *nowhere) Scan(_, _ []byte, _ func(key, value []byte) bool) error { return nil }
func (n *nowhere) Close() error                                           { return nil }

// counter counts answers.
type counter struct {
	left int
	done chan struct{}
}

func (c *counter) Reply(store.Answer) {
	if c.left--; c.left == 0 {
		close(c.done)
	}
}

// sink lets go of everything.
type sink struct{}

func (sink) Committed([]store.Event) {}

// A direct send costs few allocations and few bytes besides what its caller made, and little more than its content in
// keys and values.
func TestSendIsLean(t *testing.T) {
	const sends, pairs = 20_000, 100
	engine := &nowhere{}
	s, err := Open(engine, Options{QueueCommands: sends, QueueBytes: 1 << 30, Sink: sink{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	round := func() {
		c := &counter{left: sends, done: make(chan struct{})}
		commands := make([]store.Send, sends)
		for i := range commands {
			client := make([]byte, 16)
			binary.BigEndian.PutUint64(client, uint64(i))
			binary.BigEndian.PutUint64(client[8:], uint64(engine.bytes))
			commands[i] = store.Send{
				Reply: c, Sender: senders[i%pairs], SenderDevice: "phone-1", ToUser: senders[(i+1)%pairs], ClientID: client, Payload: payload,
			}
		}
		var before, after runtime.MemStats
		bytes := engine.bytes
		runtime.ReadMemStats(&before)
		for i := range commands {
			s.Submit(&commands[i])
		}
		<-c.done
		runtime.ReadMemStats(&after)
		allocations := float64(after.Mallocs-before.Mallocs) / sends
		allocated := (after.TotalAlloc - before.TotalAlloc) / sends
		written := (engine.bytes - bytes) / sends
		t.Logf("%.2f allocations of %d B, %d B written", allocations, allocated, written)
		if round := bytes > 0; round && (allocations > 1 || allocated > 600 || written > 560) {
			t.Errorf("a send costs %.2f allocations of %d B, %d B written", allocations, allocated, written)
		}
	}
	round() // fills the caches
	round()
	round()
}

var (
	payload = make([]byte, 128)
	senders = func() (names []string) {
		for i := range 100 {
			names = append(names, fmt.Sprintf("user-%06d", i))
		}
		return names
	}()
)
