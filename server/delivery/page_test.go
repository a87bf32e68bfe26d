package delivery

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"lifeline/protocol"
	"lifeline/store"
)

const testFrame = 1000 // bytes: the largest frame of most tests here

func inboxRead() *Read { return &Read{User: "bob", MaxFrame: testFrame} }

func messageEntry(pos uint64, payload int) store.Entry {
	return store.Entry{Pos: pos, Kind: store.KindMessage, Message: testMessage(payload)}
}

// outline is how entries lie in frames: frame by frame "pos" or "pos-to" of each entry, "+" when more is said.
func outline(frames []protocol.Push) string {
	var b bytes.Buffer
	for _, f := range frames {
		b.WriteByte('[')
		for i, e := range f.Entries {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprint(&b, e.Pos)
			if e.Kind == protocol.EntryVoid {
				fmt.Fprintf(&b, "-%d", e.Void.To)
			}
		}
		if f.More {
			b.WriteByte('+')
		}
		b.WriteByte(']')
	}
	return b.String()
}

// [P-1.7], [P-6.12]
func TestPushesAreCutAtTheLargestFrame(t *testing.T) {
	const large, whole = testFrame - 200, testFrame + 1
	void := func(pos uint64) store.Entry { return store.Entry{Pos: pos, Kind: store.KindMessage, Void: true} }
	membership := func(pos uint64) store.Entry {
		return store.Entry{Pos: pos, Kind: store.KindConversation, Membership: &store.Membership{Conversation: "g"}}
	}
	recall := func(pos uint64) store.Entry { return store.Entry{Pos: pos, Kind: store.KindRecall} }
	for _, tt := range []struct {
		name    string
		entries []store.Entry
		more    bool
		want    string
	}{
		{"one", []store.Entry{messageEntry(7, 10)}, false, "[7]"},
		{"one, and the inbox goes on", []store.Entry{messageEntry(7, 10)}, true, "[7+]"},
		{"several in one frame", []store.Entry{messageEntry(7, 10), messageEntry(8, 10), membership(9)}, false, "[7 8 9-9]"},
		{"each fills a frame", []store.Entry{messageEntry(7, large), messageEntry(8, large), messageEntry(9, large)}, false, "[7+][8+][9]"},
		{"the last of a page is not the last of the inbox", []store.Entry{messageEntry(7, large), messageEntry(8, large)}, true, "[7+][8+]"},
		{"one larger than a frame", []store.Entry{messageEntry(7, whole)}, false, "[7]"},
		{"first larger than a frame", []store.Entry{messageEntry(7, whole), messageEntry(8, 1), messageEntry(9, 1)}, false, "[7+][8 9]"},
		{"larger than a frame between small ones", []store.Entry{messageEntry(7, 1), messageEntry(8, whole), messageEntry(9, 1)}, true, "[7+][8+][9+]"},
		{"two larger than a frame", []store.Entry{messageEntry(7, whole), messageEntry(8, whole)}, false, "[7+][8]"},
		{"last larger than a frame", []store.Entry{messageEntry(7, 1), messageEntry(8, whole)}, true, "[7+][8+]"},
		{"a void", []store.Entry{void(7)}, false, "[7-7]"},
		{"a run of voids", []store.Entry{messageEntry(6, 1), void(7), void(8), void(9), messageEntry(10, 1)}, false, "[6 7-9 10]"},
		{"voids for three reasons", []store.Entry{void(7), membership(8), recall(9)}, false, "[7-9]"},
		{"two runs of voids", []store.Entry{void(7), messageEntry(8, 1), recall(9), membership(10)}, true, "[7-7 8 9-10+]"},
		{"a run of voids where a frame ends", []store.Entry{messageEntry(7, testFrame-70), void(8), void(9)}, false, "[7+][8-9]"},
	} {
		var p page
		frames, lengths := decode[protocol.Push](t, p.appendPushes(nil, tt.entries, tt.more, inboxRead()))
		if got := outline(frames); got != tt.want {
			t.Errorf("%s: got %s, want %s (lengths %d)", tt.name, got, tt.want, lengths)
		}
	}
}

// [P-6.13]
func TestPushesObeyCapabilities(t *testing.T) {
	entries := []store.Entry{
		{Pos: 7, Kind: store.KindConversation, Membership: &store.Membership{Conversation: "g", Member: true, FirstSeq: 3}},
		messageEntry(8, 3),
	}
	row := protocol.Entry{Pos: 7, Kind: protocol.EntryConversation,
		Conversation: protocol.ConversationRow{Conversation: []byte("g"), Member: true, FirstSeq: 3}}
	for _, tt := range []struct {
		capabilities uint32
		want         protocol.Entry
	}{
		{0, voidEntry(7, 7)},
		{^uint32(protocol.CapabilityConversations), voidEntry(7, 7)},
		{protocol.CapabilityConversations, row},
		{^uint32(0), row},
	} {
		var p page
		q := inboxRead()
		q.Capabilities = tt.capabilities
		frames, _ := decode[protocol.Push](t, p.appendPushes(nil, entries, false, q))
		if got := frames[0].Entries[0]; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("capabilities %b: got %+v, want %+v", tt.capabilities, got, tt.want)
		}
	}
}

// Random pages: the frames cover exactly the page, in order, with the right contents, none longer than it may be and none
// ended before it had to.
func TestRandomPagesArriveWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	var p page
	var buf []byte
	for round := range 1000 {
		entries := randomEntries(rng)
		q := &Read{User: []string{"alice", "bob"}[rng.IntN(2)], MaxFrame: 200 + rng.IntN(8000), Capabilities: uint32(rng.IntN(2))}
		more := rng.IntN(2) == 0
		buf = p.appendPushes(buf[:0], entries, more, q)
		frames, lengths := decode[protocol.Push](t, buf)
		name := fmt.Sprintf("round %d, %d entries, max frame %d: %s", round, len(entries), q.MaxFrame, outline(frames))
		var got []protocol.Entry
		for i, f := range frames {
			if len(f.Entries) == 0 || len(f.Entries) > 1 && lengths[i] > q.MaxFrame {
				t.Fatalf("%s: frame %d has %d entries in %d bytes", name, i, len(f.Entries), lengths[i])
			}
			last := i == len(frames)-1
			if f.More != (!last || more) {
				t.Fatalf("%s: frame %d says more = %v", name, i, f.More)
			}
			if !last && fitsOneMore(f, frames[i+1], q.MaxFrame) {
				t.Fatalf("%s: frame %d ended too early", name, i)
			}
			got = append(got, f.Entries...)
		}
		if want := seen(entries, q); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
}

// fitsOneMore reports whether a frame had room for the first entry of the next.
func fitsOneMore(f, next protocol.Push, most int) bool {
	f.Entries = append(f.Entries[:len(f.Entries):len(f.Entries)], next.Entries[0])
	b := f.Append(nil)
	h, _, err := protocol.ReadHeader(b, protocol.MaxLength)
	return err == nil && 1+h.Body <= most
}

// seen is what a client is to read of a page: messages and memberships as they are, the rest as runs of voids.
func seen(entries []store.Entry, q *Read) []protocol.Entry {
	var all []protocol.Entry
	for _, e := range entries {
		n := len(all)
		switch {
		case !e.Void && e.Kind == store.KindMessage:
			m := onWire(e.Message, e.Message.Sender == q.User)
			all = append(all, protocol.Entry{Pos: e.Pos, Kind: protocol.EntryMessage, Message: m})
		case !e.Void && e.Kind == store.KindConversation && q.Capabilities == protocol.CapabilityConversations:
			all = append(all, protocol.Entry{Pos: e.Pos, Kind: protocol.EntryConversation, Conversation: protocol.ConversationRow{
				Conversation: []byte(e.Membership.Conversation), Member: e.Membership.Member, FirstSeq: e.Membership.FirstSeq}})
		case n > 0 && all[n-1].Kind == protocol.EntryVoid:
			all[n-1].Void.To = e.Pos
		default:
			all = append(all, voidEntry(e.Pos, e.Pos))
		}
	}
	return all
}

func randomEntries(rng *rand.Rand) []store.Entry {
	from := 1 + rng.Uint64N(1<<uint(rng.IntN(40)))
	entries := make([]store.Entry, 1+rng.IntN(store.MaxPageEntries))
	for i := range entries {
		e := &entries[i]
		e.Pos = from + uint64(i)
		e.Kind = []store.Kind{store.KindMessage, store.KindMessage, store.KindMessage, store.KindConversation, store.KindRecall}[rng.IntN(5)]
		e.Void = rng.IntN(4) == 0
		switch {
		case e.Void:
		case e.Kind == store.KindMessage:
			e.Message = testMessage(rng.IntN(1 << uint(1+rng.IntN(12))))
			e.Message.Seq = rng.Uint64()
		case e.Kind == store.KindConversation:
			e.Membership = &store.Membership{Conversation: "g", Member: true, FirstSeq: rng.Uint64()}
		}
	}
	return entries
}

func TestPagesMakeNoGarbage(t *testing.T) {
	var entries []store.Entry
	var messages []*store.Message
	for i := range uint64(store.MaxPageEntries) {
		entries = append(entries, messageEntry(i+1, 100))
		messages = append(messages, testMessage(100))
	}
	history := store.HistoryPage{Messages: messages, Gaps: []store.Gap{{From: 1, To: 2, Reason: store.Trimmed}}}
	var p page
	buf := make([]byte, 0, 64<<10)
	q := &Read{User: "bob", MaxFrame: 8 << 10}
	if allocs := testing.AllocsPerRun(100, func() { p.appendPushes(buf, entries, true, q) }); allocs != 0 {
		t.Errorf("%v allocations for a page of an inbox", allocs)
	}
	p.appendPulled(buf, history, q) // makes room for the gaps
	if allocs := testing.AllocsPerRun(100, func() { p.appendPulled(buf, history, q) }); allocs != 0 {
		t.Errorf("%v allocations for a page of history", allocs)
	}
}
