package memstore

import "lifeline/store"

// Inbox reads a page of a user's inbox.
func (s *Store) Inbox(r store.InboxRead) (store.InboxPage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.InboxPage{}, errClosed
	}
	u := s.users[r.User]
	if u == nil {
		return store.InboxPage{}, nil
	}
	page := store.InboxPage{Head: u.head(), Trimmed: u.trimmed}
	from := max(r.From, 1)
	if from <= u.trimmed {
		return page, nil
	}
	room := min(r.MaxBytes, store.MaxPageBytes)
	for pos := from; pos <= page.Head && len(page.Entries) < min(r.Max, store.MaxPageEntries); pos++ {
		e := s.join(pos, u.inbox[pos-u.trimmed-1])
		if e.Message != nil {
			room -= len(e.Message.Payload)
		}
		if room < 0 && pos > from {
			break
		}
		page.Entries = append(page.Entries, e)
	}
	return page, nil
}

// join makes what a reader sees of an inbox entry.
func (s *Store) join(pos uint64, e entry) store.Entry {
	joined := store.Entry{Pos: pos, Kind: e.kind, Membership: e.membership}
	if e.kind == store.KindMessage {
		joined.Message = s.conversations[e.conversation].messages[e.seq]
		joined.Void = joined.Message == nil
	}
	return joined
}

// History reads a page of a conversation as one user may see it.
func (s *Store) History(r store.HistoryRead) (store.HistoryPage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.HistoryPage{}, errClosed
	}
	conv, refusal := s.readable(r.User, r.Conversation)
	if refusal != store.None {
		return store.HistoryPage{Refusal: refusal}, nil
	}
	page := store.HistoryPage{Head: conv.head, FirstVisible: conv.firstVisible(r.User)}
	room := r.MaxBytes
	for seq := max(r.From, 1); seq <= min(r.To, conv.head); seq++ {
		switch {
		case !conv.visible(r.User, seq):
			page.Gaps = widen(page.Gaps, seq, store.NotJoined)
		case seq <= conv.trimmed:
			page.Gaps = widen(page.Gaps, seq, store.Trimmed)
		default:
			m := conv.messages[seq]
			room -= len(m.Payload)
			if n := len(page.Messages); n == store.MaxHistory || n > 0 && room < 0 {
				page.More = true
				return page, nil
			}
			page.Messages = append(page.Messages, m)
		}
	}
	return page, nil
}

// readable returns a conversation if the user is or was a member of it.
func (s *Store) readable(user, name string) (*conversation, store.Refusal) {
	if !store.ValidID(user) || !store.ValidConversation(name) {
		return nil, store.InvalidID
	}
	conv := s.conversations[name]
	if conv == nil {
		a, b, direct := store.Peers(name)
		if !direct {
			return nil, store.NoSuchGroup
		}
		conv = newDirect(a, b)
	}
	if len(conv.spans[user]) == 0 {
		return nil, store.NotMember
	}
	return conv, store.None
}

// widen adds a Seq to the last gap, or begins a new one.
func widen(gaps []store.Gap, seq uint64, reason store.GapReason) []store.Gap {
	if n := len(gaps); n > 0 && gaps[n-1].Reason == reason && gaps[n-1].To == seq-1 {
		gaps[n-1].To = seq
		return gaps
	}
	return append(gaps, store.Gap{From: seq, To: seq, Reason: reason})
}
