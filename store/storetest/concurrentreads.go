package storetest

import (
	"fmt"
	"sync"

	"lifeline/store"
)

var concurrentReadTests = []test{
	{name: "ReadsWhileWriting", run: testReadsWhileWriting},
}

// S14, S16: pages are of one moment while users write, and are trimmed if the store can be.
func testReadsWhileWriting(r *rig) {
	const writers = 4
	users := names("user", writers)
	r.must(members("tram", 1, users...))
	failed := make(chan error, 3*writers)
	var all sync.WaitGroup
	for i, user := range users {
		inboxes, histories := newReader(r), newReader(r)
		all.Go(func() { failed <- writeAndTrim(r, user, inboxes, histories) })
		all.Go(func() { failed <- inboxes.readInboxes(users[(i+1)%writers]) })
		all.Go(func() { failed <- histories.readHistories(users[(i+2)%writers], "tram") })
	}
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			r.Error(err)
		}
	}
}

// reader is a goroutine that reads a page at each turn it is given, while its writer goes on.
type reader struct {
	*rig
	turns chan struct{} // closed by the writer
	ended chan struct{} // closed by the reader
}

func newReader(r *rig) *reader {
	return &reader{rig: r, turns: make(chan struct{}), ended: make(chan struct{})}
}

// turn waits until the reader has read its last page and begins with the next.
func (r *reader) turn() {
	select {
	case r.turns <- struct{}{}:
	case <-r.ended:
	}
}

// writeAndTrim lets a user send to the group.
func writeAndTrim(r *rig, user string, readers ...*reader) error {
	for _, reader := range readers {
		defer close(reader.turns)
	}
	for n := range 150 {
		for _, reader := range readers {
			reader.turn()
		}
		a, err := r.call(r.group(user, "tram", fmt.Sprint(n)))
		if err != nil || a.Refusal != store.None {
			return fmt.Errorf("send of %s: %v, %v", user, a.Refusal, err)
		}
		if canTrim(r.Harness) && n%5 == 4 {
			r.trim(user, a.Seq/2)
			r.trimConversation("tram", a.Seq/3)
		}
	}
	return nil
}

// readInboxes follows an inbox.
func (r *reader) readInboxes(user string) error {
	defer close(r.ended)
	var last store.InboxPage
	for range r.turns {
		read := store.InboxRead{User: user, From: max(last.Trimmed+1, last.Head/2), Max: 20, MaxBytes: store.MaxPageBytes}
		page, err := r.store.Inbox(read)
		if err != nil {
			return err
		}
		if err := wholeInbox(read, page, last); err != nil {
			return err
		}
		last = page
	}
	return nil
}

// wholeInbox checks that a page is of one moment, and not before that of the last one.
func wholeInbox(read store.InboxRead, page, last store.InboxPage) error {
	if page.Head < last.Head || page.Trimmed < last.Trimmed || page.Trimmed > page.Head {
		return fmt.Errorf("inbox %+v: head %d, trimmed %d after %d, %d", read, page.Head, page.Trimmed, last.Head, last.Trimmed)
	}
	want := min(read.Max, int(page.Head)-int(read.From)+1)
	if page.Trimmed >= read.From {
		want = 0
	}
	if len(page.Entries) != max(want, 0) {
		return fmt.Errorf("inbox %+v: %d entries, want %d of %d, trimmed %d", read, len(page.Entries), want, page.Head, page.Trimmed)
	}
	for i, e := range page.Entries {
		if e.Pos != read.From+uint64(i) || e.Message == nil && e.Membership == nil && !e.Void {
			return fmt.Errorf("inbox %+v: entry %d is %+v", read, i, e)
		}
		if e.Message != nil && e.Message.Seq != e.Pos-1 { // the first entry is the user's joining
			return fmt.Errorf("inbox %+v: message %d at Pos %d", read, e.Message.Seq, e.Pos)
		}
	}
	return nil
}

// readHistories follows a conversation.
func (r *reader) readHistories(user, conversation string) error {
	defer close(r.ended)
	var last store.HistoryPage
	for range r.turns {
		read := store.HistoryRead{User: user, Conversation: conversation, From: max(1, last.Head/2), To: 1 << 40, MaxBytes: store.MaxPageBytes}
		page, err := r.store.History(read)
		if err != nil {
			return err
		}
		if err := wholeHistory(read, page, last); err != nil {
			return err
		}
		last = page
	}
	return nil
}

// wholeHistory checks that a page is of one moment, and not before that of the last one.
func wholeHistory(read store.HistoryRead, page, last store.HistoryPage) error {
	if page.Refusal != store.None || page.Head < last.Head || page.FirstVisible < last.FirstVisible || page.FirstVisible > page.Head+1 {
		return fmt.Errorf("history %+v: %v, head %d, first visible %d after %d, %d", read, page.Refusal, page.Head, page.FirstVisible, last.Head, last.FirstVisible)
	}
	next := read.From
	for _, gap := range page.Gaps {
		if gap.From != next || gap.Reason != store.Trimmed || gap.To >= page.FirstVisible {
			return fmt.Errorf("history %+v: gap %+v, first visible %d", read, gap, page.FirstVisible)
		}
		next = gap.To + 1
	}
	for _, m := range page.Messages {
		if m.Seq != next || m.Seq < page.FirstVisible || m.Seq > page.Head {
			return fmt.Errorf("history %+v: message %d, want %d", read, m.Seq, next)
		}
		next++
	}
	if page.More != (next <= page.Head) {
		return fmt.Errorf("history %+v: ends with %d of %d, more %v", read, next-1, page.Head, page.More)
	}
	return nil
}
