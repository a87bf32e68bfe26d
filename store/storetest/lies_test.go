package storetest

import (
	"slices"
	"time"

	"lifeline/store"
)

// lies lists stores that are wrong, each with a test that must find it out.
var lies = []lie{
	{name: "loses an answer", caughtBy: "ConcurrentAppends", open: answers(func(_ store.Command, a store.Answer) []store.Answer {
		if a.Origin.Tag%50 == 0 {
			return nil
		}
		return []store.Answer{a}
	})},
	{name: "answers twice", caughtBy: "ConcurrentAppends", open: answers(func(_ store.Command, a store.Answer) []store.Answer {
		return []store.Answer{a, a}
	})},
	{name: "answers before it tells", caughtBy: "RetryGetsTheFirstAnswer", sink: late},
	{name: "answers with another Seq", caughtBy: "ConcurrentAppends", open: answers(func(_ store.Command, a store.Answer) []store.Answer {
		if a.Seq > 3 {
			a.Seq--
		}
		return []store.Answer{a}
	})},
	{name: "answers with another origin", caughtBy: "Origin", open: answers(func(_ store.Command, a store.Answer) []store.Answer {
		a.Origin.Received = 0
		return []store.Answer{a}
	})},
	{name: "loses the events' origin", caughtBy: "Origin", sink: events(func(e store.Event) []store.Event {
		e.Origin = store.Origin{}
		return []store.Event{e}
	})},
	{name: "notifies in spite of NoNotify", caughtBy: "Origin", sink: events(func(e store.Event) []store.Event {
		e.NoNotify = false
		return []store.Event{e}
	})},
	{name: "repeats a Pos", caughtBy: "ConcurrentAppends", sink: events(func(e store.Event) []store.Event {
		if to := e.To[len(e.To)-1]; to.Pos == 9 {
			e.To = append(e.To[:len(e.To)-1:len(e.To)-1], store.Recipient{User: to.User, Pos: 8})
		}
		return []store.Event{e}
	})},
	{name: "leaves a hole in Pos", caughtBy: "ConcurrentAppends", sink: events(func(e store.Event) []store.Event {
		if e.To[0].Pos == 9 {
			return nil
		}
		return []store.Event{e}
	})},
	{name: "leaves the last recipient out", caughtBy: "WhoGetsADirectMessage", sink: events(func(e store.Event) []store.Event {
		if len(e.To) > 1 {
			e.To = e.To[:len(e.To)-1]
		}
		return []store.Event{e}
	})},
	{name: "tells another payload", caughtBy: "PayloadSizes", sink: events(func(e store.Event) []store.Event {
		if e.Message != nil {
			m := *e.Message
			m.Payload = append([]byte("x"), m.Payload...)
			e.Message = &m
		}
		return []store.Event{e}
	})},
	{name: "stores a message twice", caughtBy: "ConcurrentAppends", open: twice},
	{name: "changes the order of commands", caughtBy: "InOrderOfSubmit", open: pairs},
	{name: "is never busy", caughtBy: "Busy", queue: 1 << 20},
	{name: "forgets its queue at Close", caughtBy: "CloseAnswers", open: func(l *liar) {
		closing := make(chan struct{})
		answers(func(_ store.Command, a store.Answer) []store.Answer {
			select {
			case <-closing:
				return nil
			default:
				return []store.Answer{a}
			}
		})(l)
		l.close = func() error { close(closing); l.close = nil; return l.Store.Close() }
	}},
	{name: "goes on after Close", caughtBy: "CloseAnswers", open: func(l *liar) { l.close = func() error { return nil } }},
	{name: "takes controls out of ids", caughtBy: "InvalidIDs", open: commands(func(c store.Command) {
		if s, ok := c.(*store.Send); ok && s.Sender == "a\x00" {
			s.Sender = "a"
		}
	})},
	{name: "takes a payload that is too large", caughtBy: "PayloadSizes", open: instead(store.TooLarge)},
	{name: "takes a conflict for the first", caughtBy: "Conflict", open: firstPayload},
	{name: "forgets client ids", caughtBy: "RetryGetsTheFirstAnswer", now: func(now func() time.Time) func() time.Time {
		offset := time.Duration(0)
		return func() time.Time { offset += 8 * day; return now().Add(offset) }
	}},
	{name: "keeps client ids for ever", caughtBy: "ClientIDExpires", now: func(now func() time.Time) func() time.Time {
		return func() time.Time { return time.Unix(0, 0) }
	}},
	{name: "counts client ids without the device", caughtBy: "ScopeOfAClientID", open: commands(func(c store.Command) {
		if s, ok := c.(*store.Send); ok && s.SenderDevice != "" {
			s.SenderDevice = "phone"
		}
	})},
	{name: "removes nobody", caughtBy: "Spans", open: commands(func(c store.Command) {
		if m, ok := c.(*store.Members); ok {
			m.Remove = nil
		}
	})},
	{name: "removes after adding", caughtBy: "MembersAsSets", open: commands(func(c store.Command) {
		if m, ok := c.(*store.Members); ok && len(m.Remove) > 0 {
			m.Add = without(m.Add, m.Remove)
		}
	})},
	{name: "tells a wrong first Seq", caughtBy: "Spans", sink: memberships(func(m *store.Membership) {
		if m.Member && m.FirstSeq > 1 {
			m.FirstSeq--
		}
	})},
	{name: "tells a wrong last Seq", caughtBy: "Spans", sink: memberships(func(m *store.Membership) {
		if !m.Member {
			m.LastSeq++
		}
	})},
	{name: "takes an old version", caughtBy: "MemberVersions", open: instead(store.StaleVersion)},
	{name: "takes 2,001 members", caughtBy: "TooManyMembers", open: instead(store.TooManyMembers)},
	{name: "takes messages of strangers", caughtBy: "WhoMaySend", open: instead(store.NotMember)},
	{name: "pays late what a large group owes", caughtBy: "LargeGroupShrinks", sink: func(next store.Sink) store.Sink {
		var owed []store.Event
		return sinkFunc(func(batch []store.Event) {
			next.Committed(batch[:len(batch)-1])
			last := batch[len(batch)-1]
			half := len(last.To) / 2
			if half > 500 {
				rest := last
				rest.To = last.To[half:]
				last.To = last.To[:half]
				owed = append(owed, rest)
				next.Committed([]store.Event{last})
				return
			}
			next.Committed(append([]store.Event{last}, owed...))
			owed = nil
		})
	}},
	{name: "ignores Max", caughtBy: "InboxPages", open: func(l *liar) {
		l.inbox = func(r store.InboxRead, page store.InboxPage) store.InboxPage {
			if r.Max == 0 {
				r.Max = 1
				page, _ = l.Store.Inbox(r)
			}
			return page
		}
	}},
	{name: "ignores MaxBytes", caughtBy: "InboxPageBytes", open: func(l *liar) {
		l.inbox = func(r store.InboxRead, _ store.InboxPage) store.InboxPage {
			r.MaxBytes = store.MaxPageBytes
			page, _ := l.Store.Inbox(r)
			return page
		}
	}},
	{name: "keeps a large first entry back", caughtBy: "InboxPageBytes", open: func(l *liar) {
		l.inbox = func(r store.InboxRead, page store.InboxPage) store.InboxPage {
			if len(page.Entries) == 1 && page.Entries[0].Message != nil && len(page.Entries[0].Message.Payload) > r.MaxBytes {
				page.Entries = nil
			}
			return page
		}
	}},
	{name: "hides the newest entry", caughtBy: "ReadableWhenCommitted", open: func(l *liar) {
		l.inbox = func(_ store.InboxRead, page store.InboxPage) store.InboxPage {
			if n := len(page.Entries); n > 0 && page.Entries[n-1].Pos == page.Head {
				page.Entries = page.Entries[:n-1]
			}
			return page
		}
	}},
	{name: "ends a history page early", caughtBy: "HistoryPages", open: func(l *liar) {
		l.history = func(_ store.HistoryRead, page store.HistoryPage) store.HistoryPage {
			if n := len(page.Messages); n > 50 {
				page.Messages, page.More = page.Messages[:50], true
			}
			return page
		}
	}},
	{name: "never says More", caughtBy: "HistoryPageBytes", open: func(l *liar) {
		l.history = func(_ store.HistoryRead, page store.HistoryPage) store.HistoryPage {
			page.More = false
			return page
		}
	}},
	{name: "shows strangers a history", caughtBy: "HistoryRefusals", open: func(l *liar) {
		l.history = func(r store.HistoryRead, page store.HistoryPage) store.HistoryPage {
			if page.Refusal == store.NotMember {
				r.User = "ann"
				page, _ = l.Store.History(r)
			}
			return page
		}
	}},
	{name: "shows what was before joining", caughtBy: "HistoryOfSpans", open: func(l *liar) {
		l.history = func(r store.HistoryRead, page store.HistoryPage) store.HistoryPage {
			if len(page.Gaps) > 0 {
				r.User = "ann"
				page, _ = l.Store.History(r)
			}
			return page
		}
	}},
	{name: "has a cursor from the start", caughtBy: "CursorBeginsWithAck", open: func(l *liar) {
		l.start = func(_, _ string, s store.Start) store.Start { s.HasCursor = true; return s }
	}},
	{name: "moves cursors back", caughtBy: "CursorsMoveForward", open: lastAck},
	{name: "makes a cursor when leaving", caughtBy: "Leaving", open: func(l *liar) {
		l.ack = func(a store.Ack) { a.HasPos = true; l.Store.Ack(a) }
	}},
	{name: "moves a cursor when leaving", caughtBy: "Leaving", open: func(l *liar) {
		l.start = func(_, device string, s store.Start) store.Start {
			if device == "desktop" {
				s.Cursor = 0
			}
			return s
		}
	}},
	{name: "lists no device", caughtBy: "Devices", open: func(l *liar) {
		l.devices = func([]store.Device) []store.Device { return nil }
	}},
	{name: "forgets no cursor", caughtBy: "Forget", open: commands(func(c store.Command) {
		if f, ok := c.(*store.Forget); ok {
			f.Device = "other"
		}
	})},
	{name: "lets a forgotten cursor come back", caughtBy: "Forget", open: unforgotten},
	{name: "begins again after a trim", caughtBy: "HeadAfterTrim", open: func(l *liar) {
		l.start = func(_, _ string, s store.Start) store.Start {
			if s.Head == s.Trimmed {
				s.Head = 0
			}
			return s
		}
	}},
	{name: "shows trimmed messages as missing members", caughtBy: "TrimmedHistory", open: func(l *liar) {
		l.history = func(_ store.HistoryRead, page store.HistoryPage) store.HistoryPage {
			for i := range page.Gaps {
				page.Gaps[i].Reason = store.NotJoined
			}
			return page
		}
	}},
	{name: "leaves void entries out", caughtBy: "VoidEntries", open: func(l *liar) {
		l.inbox = func(_ store.InboxRead, page store.InboxPage) store.InboxPage {
			for i := range page.Entries {
				page.Entries[i].Void = false
			}
			return page
		}
	}},
	{name: "says nothing of trimmed positions", caughtBy: "TrimmedOnlyGrows", open: func(l *liar) {
		l.start = func(_, _ string, s store.Start) store.Start { s.Trimmed = 0; return s }
	}},
	{name: "has one epoch for all", caughtBy: "EpochAndMessageIDs", open: func(l *liar) {
		l.epoch = func() store.Epoch { return store.Epoch{1} }
	}},
	{name: "shows a page with a message from elsewhere", caughtBy: "ReadsAgainstReplay", open: func(l *liar) {
		l.inbox = func(_ store.InboxRead, page store.InboxPage) store.InboxPage {
			if len(page.Entries) > 10 {
				page.Entries[5].Message = page.Entries[6].Message
			}
			return page
		}
	}},
	{name: "answers a conflict with the first", caughtBy: "Lockstep", open: instead(store.Conflict)},
	{name: "swallows what comes after Close", caughtBy: "CloseWhileSubmitting", open: func(l *liar) {
		l.submit = func(c store.Command) store.Refusal {
			if r := l.Store.Submit(c); r != store.Closed {
				return r
			}
			return store.None
		}
	}},
	{name: "does not see client ids under way", caughtBy: "ConcurrentRetries", open: func(l *liar) {
		l.submit = func(c store.Command) store.Refusal {
			if s, ok := c.(*store.Send); ok && s.Origin.Tag == 50 {
				s = again(s)
				s.ClientID = []byte("another")
				c = s
			}
			return l.Store.Submit(c)
		}
	}},
	{name: "refuses retries of those who left", caughtBy: "RetryAfterLeaving", open: func(l *liar) {
		var left memory[string, bool]
		answers(func(c store.Command, a store.Answer) []store.Answer {
			switch c := c.(type) {
			case *store.Members:
				for _, user := range c.Remove {
					left.swap(user, true)
				}
			case *store.Send:
				if gone, _ := left.get(c.Sender); gone {
					a = store.Answer{Origin: a.Origin, Refusal: store.NotMember}
				}
			}
			return []store.Answer{a}
		})(l)
	}},
	{name: "forgets client ids with their messages", caughtBy: "RetryAfterTrim", open: func(l *liar) {
		l.submit = func(c store.Command) store.Refusal {
			if s, ok := c.(*store.Send); ok {
				page, _ := l.Store.History(store.HistoryRead{User: s.Sender, Conversation: s.Conversation()})
				if page.FirstVisible > 1 {
					s = again(s)
					s.ClientID = append([]byte("new"), s.ClientID...)
					c = s
				}
			}
			return l.Store.Submit(c)
		}
	}},
	{name: "takes who saw nothing for a stranger", caughtBy: "EmptySpan", open: func(l *liar) {
		l.history = func(_ store.HistoryRead, page store.HistoryPage) store.HistoryPage {
			if page.FirstVisible == 0 {
				return store.HistoryPage{Refusal: store.NotMember}
			}
			return page
		}
	}},
	{name: "says nothing to who leaves a large group", caughtBy: "LargeGroupLikeSmall", sink: events(func(e store.Event) []store.Event {
		if e.Membership != nil && !e.Membership.Member && e.Membership.Conversation == "stadium" {
			return nil
		}
		return []store.Event{e}
	})},
	{name: "repeats a Pos beside a large group", caughtBy: "LargeGroupBesideOthers", sink: events(func(e store.Event) []store.Event {
		if e.Message != nil && e.Message.Conversation == "stadium" {
			e.To[0].Pos--
		}
		return []store.Event{e}
	})},
	{name: "mixes two moments in a page", caughtBy: "ReadsWhileWriting", open: func(l *liar) {
		var heads memory[string, uint64]
		l.inbox = func(r store.InboxRead, page store.InboxPage) store.InboxPage {
			if before, ok := heads.swap(r.User, page.Head); ok && len(page.Entries) > 0 {
				page.Head = before
			}
			return page
		}
	}},
	{name: "has an entry for everybody", caughtBy: "InboxOfNobody", open: func(l *liar) {
		l.inbox = func(_ store.InboxRead, page store.InboxPage) store.InboxPage {
			page.Head = max(page.Head, 1)
			return page
		}
	}},
	{name: "has another epoch when opened again", caughtBy: "ReopenKeepsEverything", reopen: func(l *liar) {
		l.epoch = func() store.Epoch { return store.Epoch{2} }
	}},
	{name: "loses cursors at Close", caughtBy: "CloseFlushesCursors", reopen: func(l *liar) {
		l.start = func(_, _ string, s store.Start) store.Start { s.HasCursor, s.Cursor = false, 0; return s }
	}},
	{name: "loses the last entry at Close", caughtBy: "ReopenedNumbersGoOn", reopen: loseNewest},
	{name: "loses its head at Close when all is trimmed", caughtBy: "ReopenAfterTrim", reopen: loseTrimmed},
	{name: "forgets at Close what it owes", caughtBy: "ReopenWithEntriesOwed", sink: events(func(e store.Event) []store.Event {
		if e.Message != nil && len(e.To) == store.MaxMembers {
			e.To = e.To[:store.MaxMembers/2]
		}
		return []store.Event{e}
	})},
	{name: "loses the last entry in a crash", caughtBy: "Crash", reopen: loseNewest},
	{name: "has a cursor ahead after a crash", caughtBy: "Crash", reopen: func(l *liar) {
		l.start = func(_, _ string, s store.Start) store.Start { s.Cursor = s.Head + 1; return s }
	}},
	{name: "forgets client ids in a crash", caughtBy: "Crash", reopen: commands(func(c store.Command) {
		if s, ok := c.(*store.Send); ok {
			s.ClientID = append([]byte("new"), s.ClientID...)
		}
	})},
	{name: "loses its head in a crash when all is trimmed", caughtBy: "CrashAfterTrim", reopen: loseTrimmed},
}

// memberships bends what membership events say.
func memberships(bend func(*store.Membership)) func(store.Sink) store.Sink {
	return events(func(e store.Event) []store.Event {
		if e.Membership != nil {
			m := *e.Membership
			bend(&m)
			e.Membership = &m
		}
		return []store.Event{e}
	})
}

// loseNewest makes a store without the newest entry of each inbox.
func loseNewest(l *liar) {
	l.start = func(_, _ string, s store.Start) store.Start { s.Head = max(s.Head, 1) - 1; return s }
	l.inbox = func(r store.InboxRead, page store.InboxPage) store.InboxPage {
		if n := len(page.Entries); n > 0 && page.Entries[n-1].Pos == page.Head {
			page.Entries = page.Entries[:n-1]
		}
		page.Head = max(page.Head, 1) - 1
		return page
	}
}

// loseTrimmed makes a store in which an inbox begins again when all of it was trimmed.
func loseTrimmed(l *liar) {
	l.start = func(_, _ string, s store.Start) store.Start {
		if s.Head == s.Trimmed {
			s = store.Start{}
		}
		return s
	}
}

// without returns the names of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return slices.Contains(b, name) })
}
