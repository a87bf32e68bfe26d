package delivery

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"lifeline/protocol"
	"lifeline/store"
)

// testMessage is a message from alice's phone to bob.
func testMessage(payload int) *store.Message {
	return &store.Message{Conversation: store.Direct("alice", "bob"), Seq: 300, ID: store.MessageID{1, 2, 3, 15: 16},
		Sender: "alice", SenderDevice: "phone", ClientID: []byte("client-id"), Time: 1_790_000_000_000,
		Payload: bytes.Repeat([]byte("x"), payload)}
}

// largestMessage is as long as a message can be.
func largestMessage() *store.Message {
	id := strings.Repeat("ä", store.MaxIDBytes/2)
	return &store.Message{Conversation: store.Direct(id, id), Seq: math.MaxUint64, ID: store.MessageID{0: 1}, Sender: id,
		SenderDevice: id, ClientID: make([]byte, store.MaxIDBytes), Time: math.MaxInt64, State: store.Recalled,
		Payload: make([]byte, store.MaxPayload)}
}

// onWire is what a client is to read of a message.
func onWire(m *store.Message, own bool) protocol.Message {
	w := protocol.Message{Conversation: []byte(m.Conversation), Seq: m.Seq, MessageID: bytes.Clone(m.ID[:]),
		Sender: []byte(m.Sender), SenderDevice: []byte(m.SenderDevice), TimeMs: uint64(m.Time),
		State: protocol.MessageState(m.State), HasPayload: true}
	if len(m.Payload) > 0 {
		w.Payload = bytes.Clone(m.Payload)
	}
	if own {
		w.ClientID = bytes.Clone(m.ClientID)
	}
	return w
}

// decode reads frames of one type and their lengths.
func decode[F any, P interface {
	*F
	protocol.Frame
}](t testing.TB, b []byte) (frames []F, lengths []int) {
	t.Helper()
	for len(b) > 0 {
		h, n, err := protocol.ReadHeader(b, protocol.MaxLength)
		if err != nil || n == 0 || len(b) < n+h.Body {
			t.Fatalf("%d bytes are left that are no frame: %v", len(b), err)
		}
		var f F
		if h.Type != P(&f).Type() {
			t.Fatalf("got a %s", h.Type)
		}
		if err := P(&f).Parse(b[n : n+h.Body]); err != nil {
			t.Fatal(err)
		}
		frames, lengths = append(frames, f), append(lengths, 1+h.Body)
		b = b[n+h.Body:]
	}
	return frames, lengths
}

// pushed is the one entry of the Push an item becomes for a connection.
func pushed(t testing.TB, it *Item, conn uint64, capabilities uint32) protocol.Entry {
	t.Helper()
	const before = "before"
	b := it.Append([]byte(before), conn, capabilities)
	if !bytes.HasPrefix(b, []byte(before)) {
		t.Fatalf("what stood before is gone: %q", b[:len(before)])
	}
	frames, _ := decode[protocol.Push](t, b[len(before):])
	if len(frames) != 1 || len(frames[0].Entries) != 1 {
		t.Fatalf("got %d frames", len(frames))
	}
	return frames[0].Entries[0]
}

// [P-6.14], [P-6.15]
func TestItemIsWhatTheReceiverMaySee(t *testing.T) {
	const origin, another = 41, 42
	m := testMessage(100)
	recalled := testMessage(0)
	recalled.State = store.Recalled
	withoutPayload := onWire(m, true)
	withoutPayload.Payload, withoutPayload.HasPayload = nil, false
	for _, tt := range []struct {
		name    string
		message *store.Message
		origin  uint64
		user    string
		conn    uint64
		want    protocol.Message
	}{
		{"the connection that sent it", m, origin, "alice", origin, withoutPayload},
		{"another device of the sender", m, origin, "alice", another, onWire(m, true)},
		{"the receiver", m, origin, "bob", another, onWire(m, false)},
		{"the sender, sent without a connection", m, 0, "alice", another, onWire(m, true)},
		{"no connection on both sides", m, 0, "bob", 0, onWire(m, false)},
		{"recalled, for the receiver", recalled, origin, "bob", another, onWire(recalled, false)},
		{"as long as can be, for the receiver", largestMessage(), origin, "bob", another, onWire(largestMessage(), false)},
	} {
		what := Encode(&store.Event{Kind: store.KindMessage, Message: tt.message, Origin: store.Origin{Conn: tt.origin}}, 5)
		if what.Kind != store.KindMessage || what.Origin != tt.origin || what.Committed != 5 {
			t.Errorf("%s: %v, origin %d, committed %d", tt.name, what.Kind, what.Origin, what.Committed)
		}
		got := pushed(t, &Item{User: tt.user, Pos: 70_000, What: what}, tt.conn, 0)
		want := protocol.Entry{Pos: 70_000, Kind: protocol.EntryMessage, Message: tt.want}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, want)
		}
	}
}

func TestItemOfAConversation(t *testing.T) {
	joined := &store.Membership{Conversation: "tram-drivers", Member: true, FirstSeq: 12}
	removed := &store.Membership{Conversation: "tram-drivers", FirstSeq: 12, LastSeq: 30}
	void := protocol.Entry{Pos: 8, Kind: protocol.EntryVoid, Void: protocol.Void{To: 8}}
	for _, tt := range []struct {
		name         string
		membership   *store.Membership
		capabilities uint32
		want         protocol.Entry
	}{
		{"joined", joined, protocol.CapabilityConversations, protocol.Entry{Pos: 8, Kind: protocol.EntryConversation,
			Conversation: protocol.ConversationRow{Conversation: []byte("tram-drivers"), Member: true, FirstSeq: 12}}},
		{"removed", removed, ^uint32(0), protocol.Entry{Pos: 8, Kind: protocol.EntryConversation,
			Conversation: protocol.ConversationRow{Conversation: []byte("tram-drivers"), FirstSeq: 12, LastSeq: 30}}},
		{"a client that knows nothing of it", joined, 0, void},
		{"a client with every other capability", joined, ^uint32(protocol.CapabilityConversations), void},
	} {
		what := Encode(&store.Event{Kind: store.KindConversation, Membership: tt.membership}, 1)
		if got := pushed(t, &Item{User: "bob", Pos: 8, What: what}, 42, tt.capabilities); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
		}
	}
}

// A void without an end would stand for the positions from its own to 0.
func TestItemOfAKindNotOnTheWireIsAVoid(t *testing.T) {
	for _, kind := range []store.Kind{store.KindRecall, store.KindRead, store.KindReceipt, 200} {
		what := Encode(&store.Event{Kind: kind}, 1)
		want := protocol.Entry{Pos: 8, Kind: protocol.EntryVoid, Void: protocol.Void{To: 8}}
		if got := pushed(t, &Item{User: "bob", Pos: 8, What: what}, 42, ^uint32(0)); !reflect.DeepEqual(got, want) {
			t.Errorf("kind %d: got %+v, want %+v", kind, got, want)
		}
	}
}

// The largest message with the longest ids fits in one frame [P-1.7].
func TestLargestItemFitsInAFrame(t *testing.T) {
	m := largestMessage()
	what := Encode(&store.Event{Kind: store.KindMessage, Message: m}, 1)
	it := Item{User: m.Sender, Pos: math.MaxUint64, What: what}
	_, lengths := decode[protocol.Push](t, it.Append(nil, 1, 0))
	if most := store.MaxPayload + protocol.FrameOverhead; lengths[0] > most {
		t.Errorf("the frame has %d bytes, more than %d", lengths[0], most)
	}
}

// One encoding is shared by all loops.
func TestEncodedIsReadOnly(t *testing.T) {
	m := testMessage(100)
	e := &store.Event{Kind: store.KindMessage, Message: m, Origin: store.Origin{Conn: 1}}
	row := &store.Event{Kind: store.KindConversation, Membership: &store.Membership{Conversation: "g", Member: true}}
	what, rowWhat := Encode(e, 1), Encode(row, 1)
	var done sync.WaitGroup
	for conn := range uint64(4) {
		done.Go(func() {
			for range 200 {
				own := Item{User: "alice", Pos: conn + 1, What: what}
				if got := pushed(t, &own, conn, 0); got.Pos != conn+1 || got.Message.HasPayload == (conn == 1) {
					t.Errorf("connection %d got %+v", conn, got)
				}
				change := Item{User: "alice", Pos: conn + 1, What: rowWhat}
				if got := pushed(t, &change, conn, uint32(conn)&protocol.CapabilityConversations); got.Pos != conn+1 {
					t.Errorf("connection %d got %+v", conn, got)
				}
			}
		})
	}
	done.Wait()
	if !reflect.DeepEqual(m, testMessage(100)) {
		t.Error("encoding has changed the message")
	}
}

func TestEncodeMakesLittleGarbage(t *testing.T) {
	for name, e := range map[string]*store.Event{
		"a message":           {Kind: store.KindMessage, Message: testMessage(128)},
		"the largest message": {Kind: store.KindMessage, Message: largestMessage()},
		"a membership":        {Kind: store.KindConversation, Membership: &store.Membership{Conversation: "g"}},
	} {
		if allocs := testing.AllocsPerRun(100, func() { Encode(e, 1) }); allocs > 2 {
			t.Errorf("%s: %v allocations, want at most 2", name, allocs)
		}
	}
}

func TestItemAppendMakesNoGarbage(t *testing.T) {
	const origin = 1
	buf := make([]byte, 0, 1024)
	m := Encode(&store.Event{Kind: store.KindMessage, Message: testMessage(128), Origin: store.Origin{Conn: origin}}, 1)
	row := Encode(&store.Event{Kind: store.KindConversation, Membership: &store.Membership{Conversation: "g"}}, 1)
	for _, tt := range []struct {
		name         string
		it           Item
		conn         uint64
		capabilities uint32
	}{
		{"to the origin", Item{User: "alice", Pos: 1, What: m}, origin, 0},
		{"to an own device", Item{User: "alice", Pos: 1, What: m}, 2, 0},
		{"to others", Item{User: "bob", Pos: 1, What: m}, 2, 0},
		{"a membership", Item{User: "bob", Pos: 1, What: row}, 2, protocol.CapabilityConversations},
		{"a void", Item{User: "bob", Pos: 1, What: row}, 2, 0},
	} {
		if allocs := testing.AllocsPerRun(100, func() { buf = tt.it.Append(buf[:0], tt.conn, tt.capabilities) }); allocs != 0 {
			t.Errorf("%s: %v allocations", tt.name, allocs)
		}
	}
}
