package commit

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"lifeline/store"
	"lifeline/store/storetest"
)

// verify returns the faults of what an engine holds.
func verify(tb testing.TB, engine *memEngine, now time.Time) []string {
	tb.Helper()
	var faults []string
	if _, err := Verify(engine, now, func(fault string) { faults = append(faults, fault) }); err != nil {
		tb.Fatal(err)
	}
	return faults
}

// filled is an engine with a little of everything in it: directs, a group that people left and joined again, a group that
// still owes, things trimmed, a cursor.
func filled(tb testing.TB) (*memEngine, time.Time) {
	tb.Helper()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	engine := newMemEngine()
	var owing *memEngine // as it was when the last message's entries began to be owed: nobody knows when they are paid
	engine.watch = func(op store.Op) {
		var o obligation
		if op.Key[1] == spaceObligation && !op.Delete && o.parse(op.Value) == nil && o.kind == store.KindMessage && o.seq == 3 && owing == nil {
			owing = engine.copied()
		}
	}
	s := open(tb, engine, storetest.Options{Now: func() time.Time { return now }})
	client := 0
	send := func(from, to, group string) store.Command {
		client++
		return &store.Send{Sender: from, SenderDevice: "phone", ToUser: to, ToGroup: group, ClientID: fmt.Append(nil, client), Payload: []byte("hello")}
	}
	crowd := []string{"ann", "bob"}
	for i := range 700 {
		crowd = append(crowd, fmt.Sprint("fan", i))
	}
	for _, c := range []store.Command{
		send("ann", "bob", ""), send("bob", "ann", ""), send("ann", "ann", ""), send("ann", "cid", ""), send("ann", "bob", ""),
		&store.Members{Group: "tram", Version: 1, Add: []string{"ann", "bob", "cid"}}, send("ann", "", "tram"), send("bob", "", "tram"),
		&store.Members{Group: "tram", Version: 2, Remove: []string{"bob"}}, send("ann", "", "tram"),
		&store.Members{Group: "tram", Version: 3, Add: []string{"bob"}, Remove: []string{"cid"}}, send("bob", "", "tram"),
		&store.Members{Group: "stadium", Version: 1, Add: crowd},
	} {
		if a := storetest.Call(s, c); a.Refusal != store.None {
			tb.Fatal(a.Refusal)
		}
	}
	s.Ack(store.Ack{User: "ann", Device: "phone", Pos: 3, HasPos: true, Leaving: true, Seen: 5})
	if err := s.TrimInbox("cid", 2); err != nil {
		tb.Fatal(err)
	}
	if err := s.TrimConversation("tram", 1); err != nil {
		tb.Fatal(err)
	}
	for range 3 {
		storetest.Call(s, send("ann", "", "stadium"))
	}
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	return owing, now
}

func TestVerifyFindsNothing(t *testing.T) {
	engine, now := filled(t)
	if faults := verify(t, engine, now); len(faults) > 0 {
		t.Errorf("a whole store has %d faults: %q", len(faults), faults[:min(5, len(faults))])
	}
	census, err := Verify(engine, now, func(string) {})
	if err != nil || census.Conversations != 5 || census.Messages != 11 || census.Cursors != 1 || census.Obligations == 0 {
		t.Errorf("%+v, %v", census, err)
	}
}

// Whatever single key is lost, cut short or in the wrong partition, it is found.
func TestVerifyFindsEveryDamage(t *testing.T) {
	engine, now := filled(t)
	tables := map[byte]int{}
	for _, key := range engine.all() {
		table := key[1]
		if _, rest, ok := splitOwner([]byte(key)); ok && (table == spaceConversation || table == spaceUser) {
			table = rest[0]
		}
		if tables[table]++; table == spaceMeta || tables[table] > 8 {
			continue
		}
		value := engine.values[key[0]][key]
		damage := map[string]func(*memEngine){
			"cut":   func(m *memEngine) { m.put(key, value[:len(value)-1]) },
			"later": func(m *memEngine) { m.put(key, append([]byte{valueVersion + 1}, value[1:]...)) },
			"moved": func(m *memEngine) {
				m.remove(key)
				m.put(string((key[0]+1)%store.Partitions)+key[1:], value)
			},
		}
		if table == tableMessage {
			delete(damage, "cut") // a payload may be of any length; its hash tells
			damage["changed"] = func(m *memEngine) { m.put(key, append(bytes.Clone(value[:len(value)-1]), 'x')) }
		}
		var d dedup
		trimmed := table == tableDedup && d.parse(value) == nil && d.seq == 1 && bytes.Contains([]byte(key), []byte("tram"))
		if table != tableCursor && !trimmed { // whose loss can only be told by who knew them
			damage["lost"] = func(m *memEngine) { m.remove(key) }
		}
		for name, do := range damage {
			damaged := engine.clone()
			do(damaged)
			if len(verify(t, damaged, now)) == 0 {
				t.Errorf("key %q was %s and nobody noticed", key, name)
			}
		}
	}
	for _, table := range []byte("adegijkmnos") {
		if tables[table] == 0 {
			t.Errorf("the test has no key of table %c", table)
		}
	}
}

// anotherClient puts a row beside that of a message which a retry finds, as it would be of another client id.
func anotherClient(m *memEngine, conversation string, seq uint64) {
	p := partitionOf(conversation)
	hash, _ := dedupHash(nil, "ann", "phone", []byte("1"))
	var d dedup
	if err := d.parse(m.values[p][string(appendDedupKey(nil, p, conversation, &hash))]); err != nil {
		panic(err)
	}
	hash, _ = dedupHash(nil, "ann", "phone", []byte("another"))
	d.seq = seq
	m.put(string(appendDedupKey(nil, p, conversation, &hash)), d.append(nil))
}

// owe adds an obligation, about nobody any more, behind those of the stadium, which has three messages.
func owe(m *memEngine, o obligation) {
	p := partitionOf("stadium")
	key := string(appendConversationKey(nil, p, "stadium"))
	var c conversation
	if err := c.parse(m.values[p][key]); err != nil {
		panic(err)
	}
	c.owed++
	o.last = "\xff"
	m.put(key, c.append(nil))
	m.put(string(appendObligationKey(nil, p, "stadium", c.owed)), o.append(nil))
}

// A head, a cursor or an entry that says more than is there.
func TestVerifyFindsWrongNumbers(t *testing.T) {
	direct := store.Direct("ann", "bob")
	p, ann, tram := partitionOf(direct), partitionOf("ann"), partitionOf("tram")
	for name, put := range map[string]func(m *memEngine){
		"head of a conversation ahead": func(m *memEngine) {
			m.put(string(appendConversationKey(nil, p, direct)), (&conversation{seq: 9}).append(nil))
		},
		"head of a conversation behind": func(m *memEngine) {
			m.put(string(appendConversationKey(nil, p, direct)), (&conversation{seq: 2}).append(nil))
		},
		"head of an inbox ahead": func(m *memEngine) {
			m.put(string(appendInboxKey(nil, ann, "ann")), (&inbox{pos: 99}).append(nil))
		},
		"head of an inbox behind": func(m *memEngine) {
			m.put(string(appendInboxKey(nil, ann, "ann")), (&inbox{pos: 1}).append(nil))
		},
		"client id of no message":      func(m *memEngine) { anotherClient(m, direct, 0) },
		"client id ahead":              func(m *memEngine) { anotherClient(m, direct, 99) },
		"obligation of no message":     func(m *memEngine) { owe(m, obligation{kind: store.KindMessage}) },
		"obligation ahead":             func(m *memEngine) { owe(m, obligation{kind: store.KindMessage, seq: 4}) },
		"obligation of a later change": func(m *memEngine) { owe(m, obligation{kind: store.KindConversation, seq: 5, member: true}) },
		"cursor ahead": func(m *memEngine) {
			m.put(string(appendCursorKey(nil, ann, "ann", "phone")), (&cursor{pos: 1000}).append(nil))
		},
		"entry twice": func(m *memEngine) {
			m.put(string(appendEntryKey(nil, ann, "ann", 2)), m.values[ann][string(appendEntryKey(nil, ann, "ann", 1))])
		},
		"entry of another's conversation": func(m *memEngine) {
			m.put(string(appendEntryKey(nil, ann, "ann", 1)), (&entry{kind: store.KindMessage, conversation: "stadium", seq: 1}).append(nil))
			m.put(string(appendMemberKey(nil, partitionOf("stadium"), "stadium", "ann")), spans{}.append(nil))
		},
		"entry of nothing": func(m *memEngine) {
			m.put(string(appendEntryKey(nil, ann, "ann", 1)), (&entry{kind: store.KindMessage, conversation: "nowhere", seq: 1}).append(nil))
		},
		"spans that end behind the head": func(m *memEngine) {
			m.put(string(appendMemberKey(nil, tram, "tram", "cid")), spans{{1, 77}}.append(nil))
		},
		"members miscounted": func(m *memEngine) {
			m.put(string(appendConversationKey(nil, tram, "tram")), (&conversation{seq: 4, trimmed: 1, version: 3, members: 3, rows: 3}).append(nil))
		},
		"applied index gone": func(m *memEngine) { m.remove(string(appendAppliedKey(nil, p))) },
		"inbox says joined, row says left": func(m *memEngine) {
			m.put(string(appendMemberKey(nil, tram, "tram", "bob")), spans{{1, 2}, {4, 4}}.append(nil))
			m.put(string(appendConversationKey(nil, tram, "tram")), (&conversation{seq: 4, trimmed: 1, version: 3, members: 1, rows: 3, day: 21915}).append(nil))
		},
		"inbox says left, row says joined": func(m *memEngine) {
			m.put(string(appendEntryKey(nil, ann, "ann", 6)), (&entry{kind: store.KindConversation, conversation: "tram", seq: 0}).append(nil))
		},
		"users in the wrong order": func(m *memEngine) {
			p := partitionOf("bob\x1fann")
			m.put(string(appendConversationKey(nil, p, "bob\x1fann")), (&conversation{}).append(nil))
			m.put(string(appendAppliedKey(nil, p)), []byte{valueVersion, 1})
		},
		"no id of a user": func(m *memEngine) {
			p := partitionOf("a\nb")
			m.put(string(appendInboxKey(nil, p, "a\nb")), (&inbox{}).append(nil))
			m.put(string(appendAppliedKey(nil, p)), []byte{valueVersion, 1})
		},
		"no such partition":   func(m *memEngine) { m.put(string([]byte{store.Partitions, spaceApplied}), []byte{valueVersion, 1}) },
		"nobody's other keys": func(m *memEngine) { m.put("\xfft", []byte{valueVersion}) },
		"no such table":       func(m *memEngine) { m.put(string([]byte{p, 'z'}), []byte{valueVersion}) },
	} {
		t.Run(name, func(t *testing.T) {
			engine, now := filled(t)
			put(engine)
			if len(verify(t, engine, now)) == 0 {
				t.Error("nobody noticed")
			}
		})
	}
}
