package storetest

import (
	"fmt"
	"math"
	"slices"

	"lifeline/store"
)

// Replay is what reads must show after a trace: the state as it was announced. The trace must pass [Check].
type Replay struct {
	inboxes       map[string]*inbox
	conversations map[string]*log
}

// inbox holds a user's entries from Pos 1 on.
type inbox struct {
	entries []store.Entry
	trimmed uint64
}

// log holds a conversation's messages from Seq 1 on, and each user's spans.
type log struct {
	messages []*store.Message
	trimmed  uint64
	spans    map[string][]span
}

type span struct{ first, last uint64 }

// NewReplay replays a trace.
func NewReplay(t Trace) *Replay {
	r := &Replay{inboxes: map[string]*inbox{}, conversations: map[string]*log{}}
	for _, step := range t {
		if step.Event != nil {
			r.event(step.Event)
		}
		if step.Trimmed != nil {
			r.trim(step.Trimmed)
		}
	}
	for _, c := range t.accepted() {
		r.conversation(c.Group) // a group may be empty
	}
	return r
}

func (r *Replay) inbox(user string) *inbox {
	if r.inboxes[user] == nil {
		r.inboxes[user] = &inbox{}
	}
	return r.inboxes[user]
}

func (r *Replay) conversation(name string) *log {
	if r.conversations[name] == nil {
		l := &log{spans: map[string][]span{}}
		if a, b, direct := store.Peers(name); direct {
			l.spans[a] = []span{{1, math.MaxUint64}}
			l.spans[b] = l.spans[a]
		}
		r.conversations[name] = l
	}
	return r.conversations[name]
}

func (r *Replay) event(e *store.Event) {
	if m := e.Message; m != nil {
		if l := r.conversation(m.Conversation); m.Seq == uint64(len(l.messages))+1 {
			l.messages = append(l.messages, m)
		}
	}
	for _, to := range e.To {
		box := r.inbox(to.User)
		box.entries = append(box.entries, store.Entry{Pos: to.Pos, Kind: e.Kind, Message: e.Message, Membership: e.Membership})
		if m := e.Membership; m != nil {
			l := r.conversation(m.Conversation)
			if m.Member {
				l.spans[to.User] = append(l.spans[to.User], span{m.FirstSeq, math.MaxUint64})
			} else {
				l.spans[to.User][len(l.spans[to.User])-1].last = m.LastSeq
			}
		}
	}
}

func (r *Replay) trim(t *Trimming) {
	if t.User != "" {
		box := r.inbox(t.User)
		box.trimmed = max(box.trimmed, min(t.UpTo, uint64(len(box.entries))))
		return
	}
	l := r.conversations[t.Conversation]
	if l == nil {
		return
	}
	l.trimmed = max(l.trimmed, min(t.UpTo, uint64(len(l.messages))))
}

// entry returns a position as a reader must see it now.
func (r *Replay) entry(user string, pos uint64) store.Entry {
	e := r.inboxes[user].entries[pos-1]
	if m := e.Message; m != nil && m.Seq <= r.conversations[m.Conversation].trimmed {
		e.Message, e.Void = nil, true
	}
	return e
}

// CheckInbox holds S14 and S15: the page of one inbox read.
func (r *Replay) CheckInbox(read store.InboxRead, page store.InboxPage) error {
	box := r.inbox(read.User)
	head := uint64(len(box.entries))
	if page.Head != head || page.Trimmed != box.trimmed {
		return fmt.Errorf("inbox %+v: head %d, trimmed %d, want %d, %d", read, page.Head, page.Trimmed, head, box.trimmed)
	}
	want := []store.Entry{}
	room := min(read.MaxBytes, store.MaxPageBytes)
	from := max(read.From, 1)
	for pos := from; from > box.trimmed && pos <= head && len(want) < min(read.Max, store.MaxPageEntries); pos++ {
		e := r.entry(read.User, pos)
		if e.Message != nil {
			room -= len(e.Message.Payload)
		}
		if room < 0 && len(want) > 0 {
			break
		}
		want = append(want, e)
	}
	if len(page.Entries) != len(want) {
		return fmt.Errorf("inbox %+v: %d entries, want %d", read, len(page.Entries), len(want))
	}
	for i, e := range page.Entries {
		if !sameEntry(e, want[i]) {
			return fmt.Errorf("inbox %+v: got %s, want %s", read, text(e), text(want[i]))
		}
	}
	return nil
}

func sameEntry(a, b store.Entry) bool {
	if a.Pos != b.Pos || a.Kind != b.Kind || a.Void != b.Void || (a.Message == nil) != (b.Message == nil) || (a.Membership == nil) != (b.Membership == nil) {
		return false
	}
	return (a.Message == nil || sameMessage(a.Message, b.Message)) && (a.Membership == nil || *a.Membership == *b.Membership)
}

// CheckHistory holds S16 and S17: the page of one history read.
func (r *Replay) CheckHistory(read store.HistoryRead, page store.HistoryPage) error {
	l, refusal := r.readable(read)
	if page.Refusal != refusal {
		return fmt.Errorf("history %+v: refusal %v, want %v", read, page.Refusal, refusal)
	}
	if refusal != store.None {
		return nil
	}
	head := uint64(len(l.messages))
	if first := l.firstVisible(read.User); page.Head != head || page.FirstVisible != first {
		return fmt.Errorf("history %+v: head %d, first visible %d, want %d, %d", read, page.Head, page.FirstVisible, head, first)
	}
	end, err := l.covered(read, page)
	if err != nil {
		return fmt.Errorf("history %+v: %w", read, err)
	}
	if more := end < min(read.To, head); page.More != more {
		return fmt.Errorf("history %+v: the page ends with %d, More is %v", read, end, page.More)
	}
	if payload(page.Messages) > read.MaxBytes && len(page.Messages) > 1 || len(page.Messages) > store.MaxHistory {
		return fmt.Errorf("history %+v: %d messages of %d bytes are above the limits", read, len(page.Messages), payload(page.Messages))
	}
	if page.More && !l.full(read, page, end+1) {
		return fmt.Errorf("history %+v: the page ends with %d although Seq %d fits", read, end, end+1)
	}
	return nil
}

func (r *Replay) readable(read store.HistoryRead) (*log, store.Refusal) {
	if !store.ValidID(read.User) || !store.ValidConversation(read.Conversation) {
		return nil, store.InvalidID
	}
	_, _, direct := store.Peers(read.Conversation)
	if !direct && r.conversations[read.Conversation] == nil {
		return nil, store.NoSuchGroup
	}
	l := r.conversation(read.Conversation)
	if len(l.spans[read.User]) == 0 {
		return nil, store.NotMember
	}
	return l, store.None
}

// gap returns why a Seq does not come to a user, 0 if it does.
func (l *log) gap(user string, seq uint64) store.GapReason {
	inside := func(s span) bool { return s.first <= seq && seq <= s.last }
	if !slices.ContainsFunc(l.spans[user], inside) {
		return store.NotJoined
	}
	if seq <= l.trimmed {
		return store.Trimmed
	}
	return 0
}

func (l *log) firstVisible(user string) uint64 {
	for seq := l.trimmed + 1; seq <= uint64(len(l.messages))+1; seq++ {
		if l.gap(user, seq) == 0 {
			return seq
		}
	}
	return 0
}

// covered walks the Seqs of a page, each of which must be the message itself or in the right gap, and returns the last.
func (l *log) covered(read store.HistoryRead, page store.HistoryPage) (end uint64, err error) {
	messages, gaps := page.Messages, page.Gaps
	seq := max(read.From, 1)
	for to := min(read.To, uint64(len(l.messages))); seq <= to; seq++ {
		reason := l.gap(read.User, seq)
		switch {
		case len(messages) > 0 && messages[0].Seq == seq && reason == 0 && sameMessage(messages[0], l.messages[seq-1]):
			messages = messages[1:]
		case len(gaps) > 0 && gaps[0].From <= seq && seq <= gaps[0].To && gaps[0].Reason == reason:
			if seq == gaps[0].To {
				gaps = gaps[1:]
			}
		case len(messages) == 0 && len(gaps) == 0:
			return seq - 1, nil
		default:
			return 0, fmt.Errorf("Seq %d (gap reason %d) is wrong or missing", seq, reason)
		}
	}
	if len(messages) > 0 || len(gaps) > 0 {
		return 0, fmt.Errorf("the page goes on after Seq %d: %d messages, gaps %v", seq-1, len(messages), gaps)
	}
	return seq - 1, nil
}

// full reports whether the first message from a Seq on exceeds a limit of the page.
func (l *log) full(read store.HistoryRead, page store.HistoryPage, next uint64) bool {
	for to := min(read.To, uint64(len(l.messages))); l.gap(read.User, next) != 0; next++ {
		if next == to {
			return false // only gaps are missing, and they cost nothing
		}
	}
	bytes := payload(page.Messages) + len(l.messages[next-1].Payload)
	return len(page.Messages) == store.MaxHistory || len(page.Messages) > 0 && bytes > read.MaxBytes
}

func payload(messages []*store.Message) (bytes int) {
	for _, m := range messages {
		bytes += len(m.Payload)
	}
	return bytes
}
