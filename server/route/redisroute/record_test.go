package redisroute

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lifeline/server/route"
)

const value = "8000000000000001|n-1|ffffffffffffffff|0000000000000002|0000000000000003|0000000000000004|1|3|1700000000001|1700000000002|1700000000003"

func TestParseRecord(t *testing.T) {
	got, ok := parseRecord("alice", "phone", value)
	want := route.Record{User: "alice", Device: "phone", ConnID: 1<<63 + 1, Node: "n-1", Incarnation: 1<<64 - 1, Instance: 2, Attempt: 3,
		Order: 4, Suspect: true, Platform: 3, Since: time.UnixMilli(1700000000001), LastSeen: time.UnixMilli(1700000000002),
		Expiry: time.UnixMilli(1700000000003)}
	if !ok || got != want {
		t.Errorf("got %+v, %v", got, ok)
	}
	for _, bad := range []string{"", "|", "x", value + "|", value[1:] + "x", "|" + value, "x" + value[1:]} {
		if r, ok := parseRecord("alice", "phone", bad); ok {
			t.Errorf("%q is %+v", bad, r)
		}
	}
}

// What a registration says a record is, is what a look-up reads; and its name is how it begins.
func TestRecordHead(t *testing.T) {
	self := route.Self{Node: "n-1", Incarnation: 1<<64 - 1}
	for _, suspect := range []bool{true, false} {
		s := route.Session{User: "alice", Device: "phone", ConnID: 1<<63 + 1, Instance: 2, Attempt: 3, Order: 4, Platform: 255, Suspect: suspect}
		key := self.Key("alice", "phone", s.ConnID)
		head := recordHead(&self, &s)
		got, ok := parseRecord("alice", "phone", head+"|1|2|3")
		if !ok || got.Key() != key || got.Instance != 2 || got.Attempt != 3 || got.Order != 4 || got.Platform != 255 || got.Suspect != suspect {
			t.Errorf("%q is %+v, %v", head, got, ok)
		}
		if name := recordName(&key); !strings.HasPrefix(head, name) || strings.Count(name, "|") != 3 {
			t.Errorf("%q is the name of %q", name, head)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		reply []any
		told  int64
		want  []int64
		ok    bool
	}{
		{[]any{int64(7), int64(1), int64(3)}, 7, []int64{1, 3}, true},
		{[]any{int64(7)}, 7, nil, true}, // late
		{[]any{int64(7), int64(1)}, 0, nil, false},
		{[]any{int64(7), int64(1), "x"}, 0, nil, false},
		{nil, 0, nil, false},
	} {
		c := &call{script: scriptRegister, reply: tt.reply}
		told, got, err := c.outcomes(2)
		if told != tt.told || !slices.Equal(got, tt.want) || (err == nil) != tt.ok {
			t.Errorf("%v: got %d, %v, %v", tt.reply, told, got, err)
		}
	}
}

// One call has what one place has, in order, and no more than a server may do at a time.
func TestPartsOf(t *testing.T) {
	elements := make([]int, 3*maxKeys)
	for i := range elements {
		elements[i] = i
	}
	var all []int
	parts := partsOf(elements, func(i int) int { return i % 2 })
	for _, part := range parts {
		for k, i := range part {
			if i%2 != part[0]%2 || k > 0 && i <= part[k-1] {
				t.Errorf("a part is %v", part)
			}
		}
		if all = append(all, part...); len(part) > maxKeys {
			t.Errorf("a part has %d elements", len(part))
		}
	}
	if slices.Sort(all); !slices.Equal(all, elements) || len(parts) != 4 {
		t.Errorf("%d parts have %d elements", len(parts), len(all))
	}
}

func TestKeys(t *testing.T) {
	for user, want := range map[string]string{"alice": "ll:route:{60}:alice", "}:x{": routeKey("}:x{")} {
		if got := routeKey(user); got != want || userOf(got) != user {
			t.Errorf("%q has %q, which is %q's", user, got, userOf(got))
		}
	}
	for _, other := range []string{"", "ll:node:a", "ll:route:", "ll:route:x"} {
		if got := userOf(other); got != "" {
			t.Errorf("%q is %q's", other, got)
		}
	}
}

func TestParseNotice(t *testing.T) {
	self := route.Self{Node: "a", Incarnation: 1}
	const head = "0000000000000001"
	for _, tt := range []struct {
		payload string
		want    route.Notice
		ok      bool
	}{
		{"k" + head + "8000000000000005" + "1", route.Notice{ConnID: 1<<63 + 5, Verdict: route.Superseded}, true},
		{"k" + head + "8000000000000005" + "2", route.Notice{ConnID: 1<<63 + 5, Verdict: route.Displaced}, true},
		{"k" + head + "8000000000000005" + "3", route.Notice{}, false},
		{"k" + head + "8000000000000005", route.Notice{}, false},
		{"k" + "0000000000000002" + "8000000000000005" + "1", route.Notice{}, false}, // another process
		{"a" + head + "0000000000000005\x05alice\x00" + "0000000000000006\x00\x03web",
			route.Notice{Asked: []route.Key{self.Key("alice", "", 5), self.Key("", "web", 6)}}, true},
		{"a" + head + "0000000000000005\x05alice\x04web", route.Notice{}, false},
		{"a" + head + "0000000000000005\x05alice", route.Notice{}, false},
		{"a" + head + "00000000000000", route.Notice{}, false},
		{"a" + head, route.Notice{}, false},
		{"z" + head + "x", route.Notice{}, false},
		{"", route.Notice{}, false},
	} {
		if got, ok := parseNotice(tt.payload, self); ok != tt.ok || ok && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: got %+v, %v", tt.payload, got, ok)
		}
	}
}

// Whatever a server or another program sends, parsing ends without a panic.
func FuzzParse(f *testing.F) {
	f.Add(value)
	f.Add("k000000000000000180000000000000051")
	f.Add("a00000000000000010000000000000005\x05alice\x03web")
	f.Add("a00000000000000010000000000000005\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Fuzz(func(t *testing.T, text string) {
		if r, ok := parseRecord("alice", "phone", text); ok && r.User != "alice" {
			t.Errorf("%q is %+v", text, r)
		}
		if n, ok := parseNotice(text, route.Self{Node: "a", Incarnation: 1}); ok && len(n.Asked) == 0 && n.Verdict == 0 {
			t.Errorf("%q is %+v", text, n)
		}
		if _, _, err := parsePlace(text); err == nil && text != "" && userOf(text) != "" {
			t.Errorf("%q is a place and a key", text)
		}
	})
}

func TestClocks(t *testing.T) {
	var c clocks
	now := time.Now()
	if got := c.estimate(3, now); got != 0 {
		t.Errorf("before the first reading: %d", got)
	}
	c.read(3, 1000, now)
	for _, tt := range []struct {
		name   string
		server int64
		after  time.Duration
		want   int64 // estimate a second after the reading
	}{
		{"an answer that was as fast", 2000, time.Second, 3000},
		{"one that took long: the estimate before is better", 2500, 2 * time.Second, 4000},
		{"one that was faster", 4200, 3 * time.Second, 5200},
		{"long afterwards, the newest", 20_000, 20 * time.Second, 21_000},
	} {
		c.read(3, tt.server, now.Add(tt.after))
		if got := c.estimate(3, now.Add(tt.after+time.Second)); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := c.estimate(4, now); got != 0 {
		t.Errorf("another server: %d", got)
	}
}
