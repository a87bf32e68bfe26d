package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"lifeline/store"
)

var readTests = []test{
	{name: "InboxPages", run: testInboxPages},
	{name: "InboxPageBytes", run: testInboxPageBytes},
	{name: "InboxOfNobody", run: testInboxOfNobody},
	{name: "HistoryPages", run: testHistoryPages},
	{name: "HistoryPageBytes", run: testHistoryPageBytes},
	{name: "HistoryRefusals", run: testHistoryRefusals},
	{name: "HistoryOfSpans", run: testHistoryOfSpans},
	{name: "ReadsAgainstReplay", run: testReadsAgainstReplay},
}

// positions reads an inbox page and returns its positions.
func (r *rig) positions(read store.InboxRead) string {
	r.Helper()
	var positions []uint64
	for _, e := range r.inboxPage(read).Entries {
		positions = append(positions, e.Pos)
	}
	return fmt.Sprint(positions)
}

// S14: Max and the page limit.
func testInboxPages(r *rig) {
	for range 100 {
		r.must(r.direct("ann", "bob", "x"))
	}
	for _, test := range []struct {
		from           uint64
		max            int
		first, entries int
	}{
		{from: 1, max: 10, first: 1, entries: 10},
		{from: 0, max: 10, first: 1, entries: 10},
		{from: 95, max: 10, first: 95, entries: 6},
		{from: 100, max: 1, first: 100, entries: 1},
		{from: 101, max: 10},
		{from: 1 << 60, max: 10},
		{from: 1, max: 0},
		{from: 1, max: store.MaxPageEntries, first: 1, entries: store.MaxPageEntries},
		{from: 1, max: store.MaxPageEntries + 1, first: 1, entries: store.MaxPageEntries},
		{from: 1, max: 1 << 30, first: 1, entries: store.MaxPageEntries},
	} {
		page := r.inboxPage(store.InboxRead{User: "bob", From: test.from, Max: test.max, MaxBytes: store.MaxPageBytes})
		if page.Head != 100 || page.Trimmed != 0 || len(page.Entries) != test.entries {
			r.Errorf("%+v: head %d, trimmed %d, %d entries", test, page.Head, page.Trimmed, len(page.Entries))
			continue
		}
		for i, e := range page.Entries {
			if e.Pos != uint64(test.first+i) {
				r.Errorf("%+v: entry %d has Pos %d", test, i, e.Pos)
			}
		}
	}
}

// S14: MaxBytes counts payload, and never keeps the first entry out.
func testInboxPageBytes(r *rig) {
	r.must(r.direct("ann", "bob", strings.Repeat("x", 100)))
	r.must(r.direct("ann", "bob", strings.Repeat("x", 50)))
	r.must(members("tram", 1, "bob"))
	r.must(r.direct("ann", "bob", ""))
	r.must(r.direct("ann", "bob", "x"))
	for _, test := range []struct {
		from  uint64
		bytes int
		want  string
	}{
		{1, 0, "[1]"},
		{1, 99, "[1]"},
		{1, 100, "[1]"},
		{1, 149, "[1]"},
		{1, 150, "[1 2 3 4]"},
		{1, 151, "[1 2 3 4 5]"},
		{2, 49, "[2]"},
		{2, 50, "[2 3 4]"},
		{3, 0, "[3 4]"},
		{3, 1, "[3 4 5]"},
	} {
		if got := r.positions(store.InboxRead{User: "bob", From: test.from, Max: 10, MaxBytes: test.bytes}); got != test.want {
			r.Errorf("from %d, %d bytes: %s, want %s", test.from, test.bytes, got, test.want)
		}
	}

	largest := strings.Repeat("x", store.MaxPayload)
	r.must(r.direct("ann", "cid", largest))
	r.must(r.direct("ann", "cid", strings.Repeat("x", store.MaxPageBytes-store.MaxPayload)))
	r.must(r.direct("ann", "cid", "x"))
	if got := r.positions(store.InboxRead{User: "cid", From: 1, Max: 10, MaxBytes: 1 << 30}); got != "[1 2]" {
		r.Errorf("a page of more than the limit: %s", got)
	}
}

// S14: who never got anything has an empty inbox.
func testInboxOfNobody(r *rig) {
	if page := r.inboxPage(store.InboxRead{User: "nobody", From: 1, Max: 10, MaxBytes: 10}); page.Head != 0 || page.Trimmed != 0 || len(page.Entries) != 0 {
		r.Errorf("inbox of nobody: %+v", page)
	}
	if start := r.start("nobody", "phone"); start != (store.Start{}) {
		r.Errorf("start of nobody: %+v", start)
	}
}

// S16: From, To and the page limit.
func testHistoryPages(r *rig) {
	const messages = store.MaxHistory + 50
	for range messages {
		r.must(r.direct("ann", "bob", "x"))
	}
	for _, test := range []struct {
		from, to, first uint64
		messages        int
		more            bool
	}{
		{from: 1, to: 10, first: 1, messages: 10},
		{from: 0, to: 10, first: 1, messages: 10},
		{from: 150, to: 150, first: 150, messages: 1},
		{from: 149, to: 1 << 60, first: 149, messages: 2},
		{from: 51, to: messages, first: 51, messages: store.MaxHistory},
		{from: 50, to: messages, first: 50, messages: store.MaxHistory, more: true},
		{from: 1, to: 100, first: 1, messages: 100},
		{from: 1, to: 1 << 60, first: 1, messages: store.MaxHistory, more: true},
		{from: 151, to: 200},
		{from: 10, to: 9},
		{from: 1, to: 0},
	} {
		read := store.HistoryRead{User: "bob", Conversation: store.Direct("ann", "bob"), From: test.from, To: test.to, MaxBytes: store.MaxPageBytes}
		page := r.historyPage(read)
		if page.Head != messages || page.FirstVisible != 1 || page.More != test.more || len(page.Gaps) != 0 || len(page.Messages) != test.messages {
			r.Errorf("%+v: head %d, first visible %d, more %v, gaps %v, %d messages", test, page.Head, page.FirstVisible, page.More, page.Gaps, len(page.Messages))
			continue
		}
		for i, m := range page.Messages {
			if m.Seq != test.first+uint64(i) {
				r.Errorf("%+v: message %d has Seq %d", test, i, m.Seq)
			}
		}
	}
}

// S16: MaxBytes counts payload, and never keeps the first message out.
func testHistoryPageBytes(r *rig) {
	for _, size := range []int{100, 50, 0, 1} {
		r.must(r.direct("ann", "bob", strings.Repeat("x", size)))
	}
	for _, test := range []struct {
		bytes, messages int
		more            bool
	}{
		{0, 1, true},
		{100, 1, true},
		{149, 1, true},
		{150, 3, true},
		{151, 4, false},
	} {
		page := r.historyPage(store.HistoryRead{User: "ann", Conversation: store.Direct("ann", "bob"), From: 1, To: 4, MaxBytes: test.bytes})
		if len(page.Messages) != test.messages || page.More != test.more {
			r.Errorf("%d bytes: %d messages, more %v", test.bytes, len(page.Messages), page.More)
		}
	}
}

// S17: who may read what.
func testHistoryRefusals(r *rig) {
	r.must(members("tram", 1, "ann", "bob"))
	r.must(members("tram", 2, "-bob"))
	r.must(r.direct("ann", "bob", "hello"))
	for _, test := range []struct {
		user, conversation string
		want               store.Refusal
	}{
		{"ann", "tram", store.None},
		{"bob", "tram", store.None},
		{"cid", "tram", store.NotMember},
		{"ann", "bus", store.NoSuchGroup},
		{"ann", "ann\x1fbob", store.None},
		{"bob", "ann\x1fbob", store.None},
		{"cid", "ann\x1fbob", store.NotMember},
		{"ann", "ann\x1fann", store.None},
		{"ann", "ann\x1fcid", store.None},
		{"dan", "ann\x1fcid", store.NotMember},
		{"ann", "bob\x1fann", store.InvalidID},
		{"ann", "ann\x1f", store.InvalidID},
		{"ann", "", store.InvalidID},
		{"ann", "tr\x00am", store.InvalidID},
		{"", "tram", store.InvalidID},
		{"an\xffn", "tram", store.InvalidID},
	} {
		page := r.historyPage(store.HistoryRead{User: test.user, Conversation: test.conversation, From: 1, To: 10, MaxBytes: 100})
		if page.Refusal != test.want {
			r.Errorf("history of %q for %q: %v, want %v", test.conversation, test.user, page.Refusal, test.want)
		}
		if page.Refusal != store.None && (page.Head != 0 || len(page.Messages) != 0) {
			r.Errorf("history of %q for %q was refused and tells %+v", test.conversation, test.user, page)
		}
	}
	if page := r.historyPage(store.HistoryRead{User: "ann", Conversation: "ann\x1fcid", From: 1, To: 10}); page.Head != 0 || page.FirstVisible != 1 || len(page.Messages)+len(page.Gaps) != 0 {
		r.Errorf("history of a conversation without messages: %+v", page)
	}
}

// S16: what lies outside the spans is a gap.
func testHistoryOfSpans(r *rig) {
	version := uint64(0)
	change := func(names ...string) { version++; r.must(members("tram", version, names...)) }
	say := func(n int) {
		for range n {
			r.must(r.group("ann", "tram", "ding"))
		}
	}
	change("ann")
	say(3)
	change("bob") // from 4
	say(2)
	change("-bob") // to 5
	change("bob")  // from 6
	say(1)
	change("-bob") // to 6
	say(2)
	change("bob") // from 9
	say(1)
	page := r.historyPage(store.HistoryRead{User: "bob", Conversation: "tram", From: 1, To: 9, MaxBytes: 1000})
	if got := fmt.Sprint(page.Gaps); got != "[{1 3 1} {7 8 1}]" || page.FirstVisible != 4 || page.Head != 9 {
		r.Errorf("gaps %v, first visible %d, head %d", got, page.FirstVisible, page.Head)
	}
	r.sees("bob", "tram", 4, 5, 6, 9)
	page = r.historyPage(store.HistoryRead{User: "bob", Conversation: "tram", From: 2, To: 3, MaxBytes: 1000})
	if got := fmt.Sprint(page.Gaps); got != "[{2 3 1}]" || len(page.Messages) != 0 || page.More {
		r.Errorf("a page inside a gap: %+v", page)
	}
}

// S14–S17: random reads show what was announced.
func testReadsAgainstReplay(r *rig) {
	random := rand.New(rand.NewPCG(3, 3))
	users := names("user", 6)
	pick := func() string { return users[random.IntN(len(users))] }
	version := uint64(0)
	for range 400 {
		version++
		switch random.IntN(4) {
		case 0:
			r.must(members("tram", version, pick(), "-"+pick()))
		case 1:
			r.must(r.direct(pick(), pick(), strings.Repeat("x", random.IntN(3000))))
		case 2:
			await(r, r.submit(r.group(pick(), "tram", strings.Repeat("x", random.IntN(3000)))))
		case 3:
			if canTrim(r.Harness) && random.IntN(10) == 0 {
				r.trim(pick(), random.Uint64N(20))
				r.trimConversation("tram", random.Uint64N(20))
				r.trimConversation(store.Direct(pick(), pick()), random.Uint64N(3))
			}
		}
	}
	replay := NewReplay(r.Trace())
	for range 1000 {
		r.randomReads(replay, random, pick(), []string{"tram", store.Direct(pick(), pick())}[random.IntN(2)])
	}
}

// randomReads makes an inbox and a history read with random limits and compares them with the replay.
func (r *rig) randomReads(replay *Replay, random *rand.Rand, user, conversation string) {
	r.Helper()
	inbox := store.InboxRead{User: user, From: random.Uint64N(200), Max: random.IntN(80), MaxBytes: random.IntN(40_000)}
	if err := replay.CheckInbox(inbox, r.inboxPage(inbox)); err != nil {
		r.Fatal(err)
	}
	history := store.HistoryRead{User: user, Conversation: conversation, From: random.Uint64N(100), To: random.Uint64N(150), MaxBytes: random.IntN(40_000)}
	if err := replay.CheckHistory(history, r.historyPage(history)); err != nil {
		r.Fatal(err)
	}
}
