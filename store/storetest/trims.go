package storetest

import "lifeline/store"

var trimTests = []test{
	{name: "HeadAfterTrim", needs: canTrim, run: testHeadAfterTrim},
	{name: "TrimmedOnlyGrows", needs: canTrim, run: testTrimmedOnlyGrows},
	{name: "VoidEntries", needs: canTrim, run: testVoidEntries},
	{name: "TrimmedHistory", needs: canTrim, run: testTrimmedHistory},
}

// S21: numbers go on after everything was deleted.
func testHeadAfterTrim(r *rig) {
	for range 3 {
		r.must(r.direct("ann", "bob", "x"))
	}
	r.trim("ann", 3)
	r.trim("bob", 3)
	r.trimConversation(store.Direct("ann", "bob"), 3)
	if s := r.start("bob", "phone"); s.Head != 3 || s.Trimmed != 3 {
		r.Fatalf("after trimming everything: %+v", s)
	}
	if a := r.must(r.direct("bob", "ann", "y")); a.Seq != 4 {
		r.Fatalf("after trimming everything came Seq %d", a.Seq)
	}
	r.wantInbox("bob", "ann+bob 4")
	if s := r.start("bob", "phone"); s.Head != 4 || s.Trimmed != 3 {
		r.Fatalf("after the next message: %+v", s)
	}
}

// S21: trimming less, more than there is, or nothing at all.
func testTrimmedOnlyGrows(r *rig) {
	for range 5 {
		r.must(r.direct("ann", "bob", "x"))
	}
	conversation := store.Direct("ann", "bob")
	for _, test := range []struct{ upTo, want uint64 }{{0, 0}, {2, 2}, {1, 2}, {2, 2}, {4, 4}, {100, 5}, {3, 5}} {
		r.trim("bob", test.upTo)
		r.trimConversation(conversation, test.upTo)
		if s := r.start("bob", "phone"); s.Trimmed != test.want || s.Head != 5 {
			r.Fatalf("trimmed up to %d: %+v, want %d of 5", test.upTo, s, test.want)
		}
		page := r.historyPage(store.HistoryRead{User: "ann", Conversation: conversation, From: 1, To: 5, MaxBytes: 100})
		if page.FirstVisible != test.want+1 || len(page.Messages) != 5-int(test.want) {
			r.Fatalf("trimmed up to %d: first visible %d, %d messages", test.upTo, page.FirstVisible, len(page.Messages))
		}
	}
	r.trim("nobody", 10)
	r.trimConversation("nowhere", 10)
	if s := r.start("nobody", "phone"); s != (store.Start{}) {
		r.Fatalf("trimming nothing made %+v", s)
	}
}

// S14, S15: an entry without its message is void, and a read below the trimmed ones says so.
func testVoidEntries(r *rig) {
	for range 4 {
		r.must(r.direct("ann", "bob", "x"))
	}
	r.trimConversation(store.Direct("ann", "bob"), 2)
	r.wantInbox("bob", "void", "void", "ann+bob 3", "ann+bob 4")
	r.trim("bob", 1)
	r.wantInbox("bob", "void", "ann+bob 3", "ann+bob 4")
	r.wantInbox("ann", "void", "void", "ann+bob 3", "ann+bob 4")
	page := r.inboxPage(store.InboxRead{User: "bob", From: 1, Max: 10, MaxBytes: 100})
	if page.Trimmed != 1 || page.Head != 4 || len(page.Entries) != 0 {
		r.Fatalf("a read from a trimmed position: %+v", page)
	}
	r.trim("bob", 4)
	page = r.inboxPage(store.InboxRead{User: "bob", From: 5, Max: 10, MaxBytes: 100})
	if page.Trimmed != 4 || page.Head != 4 || len(page.Entries) != 0 {
		r.Fatalf("a read behind the trimmed positions: %+v", page)
	}
}

// S16: trimmed messages are a gap only for those who could have seen them.
func testTrimmedHistory(r *rig) {
	r.must(members("tram", 1, "ann"))
	r.must(r.group("ann", "tram", "one"))
	r.must(r.group("ann", "tram", "two"))
	r.must(members("tram", 2, "bob"))
	r.must(r.group("ann", "tram", "three"))
	r.must(r.group("ann", "tram", "four"))
	r.must(members("tram", 3, "-bob"))
	r.trimConversation("tram", 3)
	page := r.historyPage(store.HistoryRead{User: "bob", Conversation: "tram", From: 1, To: 4, MaxBytes: 100})
	want := []store.Gap{{From: 1, To: 2, Reason: store.NotJoined}, {From: 3, To: 3, Reason: store.Trimmed}}
	if len(page.Gaps) != 2 || page.Gaps[0] != want[0] || page.Gaps[1] != want[1] || page.FirstVisible != 4 {
		r.Fatalf("history of a trimmed group: %+v", page)
	}
	r.trimConversation("tram", 4)
	page = r.historyPage(store.HistoryRead{User: "bob", Conversation: "tram", From: 1, To: 4, MaxBytes: 100})
	if page.FirstVisible != 0 || page.Head != 4 || len(page.Messages) != 0 {
		r.Fatalf("history of a wholly trimmed group: %+v", page)
	}
}
