package protocol

import (
	"bytes"
	"slices"
	"testing"
)

func TestEncodedMessage(t *testing.T) {
	for _, payload := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("x"), 300)} {
		own := push128().Entries[0].Message
		own.ClientID = []byte("0123456789abcdef")
		own.Payload = payload
		others, origin := own, own
		others.ClientID = nil
		origin.Payload, origin.HasPayload = nil, false

		encoded := EncodeMessage([]byte("before"), &own)
		for name, pair := range map[string]struct {
			got  []byte
			want Message
		}{
			"own":    {encoded.Own(), own},
			"others": {encoded.Others(), others},
			"origin": {encoded.Origin(), origin},
		} {
			if want := pair.want.append(nil); !bytes.Equal(pair.got, want) {
				t.Errorf("%s with a payload of %d:\n got % x\nwant % x", name, len(payload), pair.got, want)
			}
		}
	}
}

func TestAppendPushMessage(t *testing.T) {
	for _, pos := range []uint64{0, 1, 127, 128, 1 << 40} {
		for _, size := range []int{0, 1, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 128, 16_300, 16_384, PayloadCeiling} {
			f := push128()
			f.Entries[0].Pos = pos
			f.Entries[0].Message.Payload = make([]byte, size)
			encoded := EncodeMessage(nil, &f.Entries[0].Message)
			want := f.Append([]byte("before"))
			if got := AppendPushMessage([]byte("before"), pos, encoded.Own()); !bytes.Equal(got, want) {
				t.Errorf("pos %d, payload %d: differs from Append", pos, size)
			}
			batch := BeginPush([]byte("before"), MaxLength)
			if !batch.AddMessage(pos, encoded.Own()) || !bytes.Equal(batch.End(false), want) {
				t.Errorf("pos %d, payload %d: batch differs from Append", pos, size)
			}
		}
	}
}

// [P-1.7]: an answer ends at the largest frame. At every limit as many entries go in as fit, and what comes out is the
// same Push that Append writes.
func TestPushBatchStopsAtMax(t *testing.T) {
	var whole Push
	for pos := range uint64(40) {
		e := push128().Entries[0]
		if e.Pos = pos + 1; pos%4 == 3 {
			e = Entry{Pos: pos + 1, Kind: EntryVoid, Void: Void{To: pos + 1}}
		}
		whole.Entries = append(whole.Entries, e)
	}
	for max := 3; max < 6000; max += 13 {
		batch := BeginPush([]byte("before"), max)
		for i := range whole.Entries {
			e := &whole.Entries[i]
			added := false
			if e.Kind == EntryMessage {
				encoded := EncodeMessage(nil, &e.Message)
				added = batch.AddMessage(e.Pos, encoded.Own())
			} else {
				added = batch.AddEntry(e)
			}
			if !added {
				break
			}
		}
		count := batch.Len()
		length := batch.Length()
		want := Push{Entries: whole.Entries[:count], More: true}
		wire := batch.End(true)
		if !bytes.Equal(wire, want.Append([]byte("before"))) {
			t.Fatalf("max %d: %d entries differ from Append", max, count)
		}
		h, _, err := ReadHeader(wire[len("before"):], max)
		if err != nil || h.Body+1 != length+tail {
			t.Fatalf("max %d: length %d after %d: %v", max, h.Body+1, length, err)
		}
		if count < len(whole.Entries) {
			next := Push{Entries: whole.Entries[:count+1], More: true}
			if _, _, err := ReadHeader(next.Append(nil), max); err != ErrTooLarge {
				t.Fatalf("max %d: one more than %d entries would fit", max, count)
			}
		}
	}
}

func TestPulledBatchStopsAtMax(t *testing.T) {
	whole := Pulled{ID: 7, FirstVisible: 3, Head: 900, Gaps: []Gap{{FromSeq: 1, ToSeq: 2, Reason: GapTrimmed}}}
	for range 40 {
		whole.Messages = append(whole.Messages, push128().Entries[0].Message)
	}
	for max := 20; max < 8000; max += 17 {
		batch := BeginPulled([]byte("before"), max, &whole)
		for i := range whole.Messages {
			if !batch.Add(&whole.Messages[i]) {
				break
			}
		}
		want := whole
		want.Messages, want.More = whole.Messages[:batch.Len()], batch.Len() < len(whole.Messages)
		wire := batch.End(want.More)
		if !bytes.Equal(wire, want.Append([]byte("before"))) {
			t.Fatalf("max %d: %d messages differ from Append", max, batch.Len())
		}
		if _, _, err := ReadHeader(wire[len("before"):], max); err != nil {
			t.Fatalf("max %d: %v", max, err)
		}
		if want.More {
			next := whole
			next.Messages, next.More = whole.Messages[:batch.Len()+1], true
			if _, _, err := ReadHeader(next.Append(nil), max); err != ErrTooLarge {
				t.Fatalf("max %d: one more than %d messages would fit", max, batch.Len())
			}
		}
	}
}

// [P-1.7]: the largest message that may exist fits in a frame with all its ids at their longest, whole.
func TestLargestMessageFits(t *testing.T) {
	id := bytes.Repeat([]byte("x"), MaxIDBytes)
	conversation := append(append(bytes.Clone(id), 0x1f), id...)
	for _, payload := range []int{1, DefaultMaxPayload, PayloadCeiling} {
		message := Message{
			ClientID: id, Conversation: conversation, Seq: 1<<64 - 1, MessageID: make([]byte, 16), Sender: id,
			SenderDevice: id, TimeMs: 1<<64 - 1, State: -1, Payload: make([]byte, payload), HasPayload: true,
		}
		encoded := EncodeMessage(nil, &message)
		push := BeginPush(nil, payload+FrameOverhead)
		if !push.AddMessage(1<<64-1, encoded.Own()) {
			t.Errorf("payload %d does not fit a Push", payload)
		}
		gap := Gap{FromSeq: 1 << 34, ToSeq: 1 << 34, Reason: GapHidden}
		around := Pulled{ID: 1<<64 - 1, FirstVisible: 1 << 34, Head: 1 << 34, Gaps: slices.Repeat([]Gap{gap}, 99)}
		pulled := BeginPulled(nil, payload+FrameOverhead, &around)
		if !pulled.Add(&message) {
			t.Errorf("payload %d does not fit a Pulled", payload)
		}
		send := Send{ID: 1<<64 - 1, To: ToGroup, ToID: id, ClientID: id, Payload: message.Payload, NoNotify: true, SkipOrder: true}
		if _, _, err := ReadHeader(send.Append(nil), payload+FrameOverhead); err != nil {
			t.Errorf("payload %d does not fit a Send: %v", payload, err)
		}
	}
}
