package delivery

import (
	"fmt"
	"testing"

	"lifeline/protocol"
	"lifeline/store"
)

// benchMessage is a message of 128 bytes in a direct conversation.
func benchMessage() *store.Message {
	return &store.Message{Conversation: store.Direct("alice-0001", "bob-000002"), Seq: 300, ID: store.MessageID{1, 2, 3},
		Sender: "alice-0001", SenderDevice: "alices-phone", ClientID: make([]byte, 16), Time: 1_790_000_000_000,
		Payload: make([]byte, 128)}
}

func BenchmarkEncode(b *testing.B) {
	e := &store.Event{Kind: store.KindMessage, Message: benchMessage()}
	b.ReportAllocs()
	for b.Loop() {
		Encode(e, 1)
	}
}

func BenchmarkItemAppend(b *testing.B) {
	it := Item{User: "bob-000002", Pos: 70_000, What: Encode(&store.Event{Kind: store.KindMessage, Message: benchMessage()}, 1)}
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		it.Append(buf, 1, 0)
	}
}

func BenchmarkPage(b *testing.B) {
	var entries []store.Entry
	for i := range store.MaxPageEntries {
		entries = append(entries, store.Entry{Pos: uint64(i + 1), Kind: store.KindMessage, Message: benchMessage()})
	}
	q := &Read{User: "bob-000002", MaxFrame: protocol.DefaultMaxPayload + protocol.FrameOverhead}
	var p page
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = p.appendPushes(buf[:0], entries, false, q)
	}
}

// nobody takes what is posted.
type nobody struct{}

func (nobody) Deliver(int, []Item) {}

func BenchmarkFanout(b *testing.B) {
	for _, members := range []int{2, 100, 2000} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			dir := NewDirectory()
			e := store.Event{Kind: store.KindMessage, Message: benchMessage()}
			for i := range members {
				user := fmt.Sprintf("user-%d", i)
				e.To = append(e.To, store.Recipient{User: user, Pos: uint64(i + 1)})
				dir.Join(dir.Hash(user), i%2)
			}
			f := NewFanout(dir, 2, nobody{}, func() int64 { return 1 }, func(*store.Event, int64) {})
			batch := []store.Event{e}
			b.ReportAllocs()
			for b.Loop() {
				f.Committed(batch)
			}
		})
	}
}
