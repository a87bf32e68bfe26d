package commit

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lifeline/store"
)

// text shows the bytes of a key: what is printable as it is, the rest in hex.
func text(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		if c > 0x20 && c < 0x7f {
			s.WriteByte(c)
		} else {
			fmt.Fprintf(&s, "<%02x>", c)
		}
	}
	return s.String()
}

// The keys of docs/store.md. They are on disks: a change here needs a new form, not a new expectation.
func TestKeys(t *testing.T) {
	direct := store.Direct("ann", "bob")
	hash := [16]byte{0xaa, 15: 0xbb}
	for _, test := range []struct {
		key  []byte
		want string
	}{
		{appendConversationKey(nil, partitionOf("tram"), "tram"), "<1e>ctram<00>n"},
		{appendConversationKey(nil, partitionOf(direct), direct), "<12>cann<1f>bob<00>n"},
		{appendMessageKey(nil, 0, "tram", 258), "<00>ctram<00>m<00><00><00><00><00><00><01><02>"},
		{appendMemberKey(nil, 1, "tram", "ann"), "<01>ctram<00>gann"},
		{appendDedupKey(nil, 2, "tram", &hash), "<02>ctram<00>d<aa>" + strings.Repeat("<00>", 14) + "<bb>"},
		{appendExpiryKey(nil, 3, 20000, "tram"), "<03>e<00><00>N<20>tram"},
		{appendObligationKey(nil, 4, "tram", 1), "<04>otram<00><00><00><00><00><00><00><00><01>"},
		{appendInboxKey(nil, partitionOf("ann"), "ann"), "!uann<00>j"},
		{appendEntryKey(nil, 5, "ann", 1), "<05>uann<00>i<00><00><00><00><00><00><00><01>"},
		{appendCursorKey(nil, 6, "ann", "phone"), "<06>uann<00>kphone"},
		{appendAppliedKey(nil, 63), "?a"},
		{metaKey(), "<ff>s"},
	} {
		if got := text(test.key); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// Keys of one owner lie between the bounds of their table, those of another never do, and numbers sort.
func TestKeyOrder(t *testing.T) {
	owners := []string{"a", "ab", "a\x1fb", "b", "ä", "a b", strings.Repeat("z", 64)}
	for _, owner := range owners {
		from := appendOwned(nil, 7, spaceConversation, owner, tableMessage)
		to := appendOwned(nil, 7, spaceConversation, owner, tableMessage+1)
		for _, other := range owners {
			for _, seq := range []uint64{1, 255, 256, 1 << 40} {
				key := appendMessageKey(nil, 7, other, seq)
				if inside := bytes.Compare(from, key) <= 0 && bytes.Compare(key, to) < 0; inside != (owner == other) {
					t.Errorf("message %d of %q between the bounds of %q: %v", seq, other, owner, inside)
				}
				if id, rest, ok := splitOwner(key); !ok || string(id) != other || rest[0] != tableMessage || number(rest[1:]) != seq {
					t.Errorf("message %d of %q was taken apart into %q, %q", seq, other, id, rest)
				}
			}
		}
	}
	var keys [][]byte
	for _, seq := range []uint64{1, 2, 255, 256, 65535, 65536, 1 << 32} {
		keys = append(keys, appendEntryKey(nil, 7, "ann", seq))
	}
	if !slices.IsSortedFunc(append(keys, appendInboxKey(nil, 7, "ann")), bytes.Compare) {
		t.Error("entries are not in the order of their Pos, the head behind them")
	}
}

func TestPartitionsAreUsedEvenly(t *testing.T) {
	var users [store.Partitions]int
	for i := range 64_000 {
		users[partitionOf(fmt.Sprint("user", i))]++
	}
	if least, most := slices.Min(users[:]), slices.Max(users[:]); least < 800 || most > 1200 {
		t.Errorf("of 64,000 users the partitions have %d to %d", least, most)
	}
}

// value is what every stored value can do.
type value interface {
	append(dst []byte) []byte
	parse(value []byte) error
}

// storedMessage and storedSpans give the two values that parse otherwise the same methods.
type storedMessage struct{ store.Message }

func (m *storedMessage) append(dst []byte) []byte { return appendMessage(dst, &m.Message) }
func (m *storedMessage) parse(value []byte) error { return parseMessage(&m.Message, value, &m.Message) }

type storedSpans struct{ spans }

func (s *storedSpans) parse(value []byte) (err error) {
	s.spans, err = parseSpans(nil, value)
	return err
}

// The values of docs/store.md, byte for byte, and there and back. What is cut short or of another version is refused.
func TestValues(t *testing.T) {
	id := store.MessageID{1, 15: 2}
	const idHex = "01000000000000000000000000000002"
	for _, test := range []struct {
		value value
		empty value
		want  string
		open  bool // what follows the first fields may be of any length
	}{
		{&conversation{seq: 300, trimmed: 2, version: 3, members: 4, rows: 5, done: 6, owed: 7, day: 8}, &conversation{}, "01" + "ac02" + "02030405060708", false},
		{&inbox{pos: 300, trimmed: 1}, &inbox{}, "01ac0201", false},
		{&entry{kind: store.KindMessage, conversation: "tram", seq: 9, time: 300}, &entry{}, "0101" + "047472616d" + "09" + "ac02", false},
		{&entry{kind: store.KindConversation, conversation: "tram", seq: 9, time: 1, member: true}, &entry{}, "0105" + "047472616d" + "090101", false},
		{&storedMessage{store.Message{ID: id, Time: 300, Sender: "ann", SenderDevice: "p", ClientID: []byte{7}, Payload: []byte("hi")}}, &storedMessage{},
			"0100" + idHex + "ac02" + "03616e6e" + "0170" + "0107" + "6869", true},
		{&storedSpans{spans{{1, 4}, {6, forever}}}, &storedSpans{}, "01" + "0104" + "0600", true},
		{&dedup{seq: 1, id: id, time: 300, payload: [8]byte{9}}, &dedup{}, "0101" + idHex + "ac02" + "0900000000000000", false},
		{&cursor{pos: 300, platform: 2, seen: 5}, &cursor{}, "01ac020205", false},
		{&obligation{kind: store.KindMessage, seq: 1, noNotify: true, began: true, last: "ann"}, &obligation{}, "010101" + "0101" + "03616e6e", false},
		{&obligation{kind: store.KindConversation, seq: 1, member: true, users: []string{"a", "b"}}, &obligation{}, "010501" + "01" + "0161" + "0162", true},
		{&Meta{Epoch: store.Epoch{1, 15: 2}, Boot: 3}, &Meta{}, "01" + idHex + "0340", false},
	} {
		bytes := test.value.append(nil)
		if got := hex.EncodeToString(bytes); got != test.want {
			t.Errorf("%T: got %s, want %s", test.value, got, test.want)
		}
		if err := test.empty.parse(bytes); err != nil || fmt.Sprint(test.empty) != fmt.Sprint(test.value) {
			t.Errorf("%T: there and back gives %+v, %v", test.value, test.empty, err)
		}
		for end := range bytes {
			if err := test.empty.parse(bytes[:end]); err == nil && !test.open {
				t.Errorf("%T: cut to %d of %d bytes it is read", test.value, end, len(bytes))
			}
		}
		bytes[0]++
		if err := test.empty.parse(bytes); err == nil {
			t.Errorf("%T: another version is read", test.value)
		}
		if !test.open {
			bytes[0]--
			if err := test.empty.parse(append(bytes, 1)); err == nil {
				t.Errorf("%T: with a byte too many it is read", test.value)
			}
		}
	}
}

// Spans as joining and leaving make them.
func TestSpans(t *testing.T) {
	var s spans
	s = s.join(0) // before the first message
	if s = s.leave(0); len(s) != 0 {
		t.Errorf("left before a message came: %v", s)
	}
	s = s.join(0).leave(3).join(3)
	if len(s) != 1 || !s.present() || !s.contains(4) {
		t.Errorf("came back before a message came: %v", s)
	}
	s = s.leave(5).join(8)
	for seq, want := range map[uint64]bool{1: true, 5: true, 6: false, 8: false, 9: true} {
		if s.contains(seq) != want {
			t.Errorf("%v contains %d: %v", s, seq, !want)
		}
	}
	for from, want := range map[uint64]uint64{0: 1, 1: 2, 5: 9, 6: 9, 20: 21} {
		if got := s.after(from); got != want {
			t.Errorf("%v after %d: %d, want %d", s, from, got, want)
		}
	}
	for from, want := range map[uint64]uint64{1: 0, 2: 1, 6: 5, 9: 5, 10: 9} {
		if got := s.before(from); got != want {
			t.Errorf("%v before %d: %d, want %d", s, from, got, want)
		}
	}
}
