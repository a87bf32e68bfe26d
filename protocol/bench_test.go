package protocol

import (
	"bytes"
	"testing"
)

// push128 is what the server sends most: one message with a payload of 128 bytes, for somebody else than its sender.
func push128() *Push {
	return &Push{Entries: []Entry{{
		Pos:  123_456,
		Kind: EntryMessage,
		Message: Message{
			Conversation: []byte("alice\x1fbob"),
			Seq:          4_321,
			MessageID:    bytes.Repeat([]byte{0xA5}, MessageIDBytes),
			Sender:       []byte("alice"),
			SenderDevice: []byte("phone"),
			TimeMs:       1_767_225_600_000,
			Payload:      bytes.Repeat([]byte{'x'}, 128),
			HasPayload:   true,
		},
	}}}
}

func send128() *Send {
	return &Send{
		ID:       77,
		To:       ToUser,
		ToID:     []byte("bob"),
		ClientID: bytes.Repeat([]byte{0x5A}, 16),
		Payload:  bytes.Repeat([]byte{'x'}, 128),
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, bench := range benchFrames() {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 64<<10)
			for b.Loop() {
				buf = bench.frame.Append(buf[:0])
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, bench := range benchFrames() {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			wire := bench.frame.Append(nil)
			b.SetBytes(int64(len(wire)))
			into := New(bench.frame.Type())
			for b.Loop() {
				_, n, err := ReadHeader(wire, MaxLength)
				if err == nil {
					err = into.Parse(wire[n:])
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppendPushMessage is what a receiver costs once its message is encoded.
func BenchmarkAppendPushMessage(b *testing.B) {
	b.ReportAllocs()
	encoded := EncodeMessage(nil, &push128().Entries[0].Message)
	buf := make([]byte, 0, 512)
	for b.Loop() {
		buf = AppendPushMessage(buf[:0], 123_456, encoded.Others())
	}
	b.SetBytes(int64(len(buf)))
}

type benchFrame struct {
	name  string
	frame Frame
}

func benchFrames() []benchFrame {
	large := push128()
	large.Entries[0].Message.Payload = bytes.Repeat([]byte{'x'}, DefaultMaxPayload)
	return []benchFrame{
		{"ping", &Ping{}},
		{"pong", &Pong{Head: 123_456}},
		{"ack", &Ack{Pos: 123_456, HasPos: true}},
		{"send128", send128()},
		{"push128", push128()},
		{"push32k", large},
	}
}
