package storetest

import (
	"strings"
	"testing"
	"time"

	"lifeline/store"
)

// story is a trace of a store that is right: a group, two direct messages, a retry, a refusal, a leaver.
func story(t *testing.T) Trace {
	r := newRig(t, honest, newClock(), 0)
	r.must(members("tram", 1, "ann", "bob", "cid"))
	hello := r.direct("ann", "bob", "hello")
	r.must(hello)
	r.must(again(hello))
	r.must(r.group("bob", "tram", "one"))
	r.must(members("tram", 2, "-bob"))
	r.refused(r.group("bob", "tram", "not me"), store.NotMember)
	r.must(r.group("ann", "tram", "two"))
	r.must(r.direct("bob", "ann", "hello yourself"))
	r.close()
	await(t, r.submit(r.direct("ann", "bob", "too late")))
	return r.Trace()
}

// mutable copies a trace so far that events, answers and what they point to can be changed.
func (t Trace) mutable() Trace {
	other := make(Trace, len(t))
	for i, step := range t {
		if step.Event != nil {
			e := *step.Event
			e.To = append([]store.Recipient(nil), e.To...)
			if e.Message != nil {
				m := *e.Message
				e.Message = &m
			}
			if e.Membership != nil {
				m := *e.Membership
				e.Membership = &m
			}
			step.Event = &e
		}
		if step.Answer != nil {
			a := *step.Answer
			step.Answer = &a
		}
		if step.Submitted != nil {
			s := *step.Submitted
			step.Submitted = &s
		}
		other[i] = step
	}
	return other
}

// message returns the event of a message.
func (t Trace) message(conversation string, seq uint64) *store.Event {
	for _, e := range t.events() {
		if e.Message != nil && at(e.Message) == (place{conversation, seq}) {
			return e
		}
	}
	return nil
}

// told returns the event of a membership.
func (t Trace) told(member bool) *store.Event {
	for _, e := range t.events() {
		if e.Membership != nil && e.Membership.Member == member {
			return e
		}
	}
	return nil
}

// answer returns the nth answer.
func (t Trace) answer(n int) *store.Answer {
	for _, step := range t {
		if step.Answer != nil {
			if n--; n == 0 {
				return step.Answer
			}
		}
	}
	return nil
}

// without leaves steps out.
func (t Trace) without(leave func(Step) bool) Trace {
	var rest Trace
	for _, step := range t {
		if !leave(step) {
			rest = append(rest, step)
		}
	}
	return rest
}

// Each rule finds what is against it, and says so.
func TestRules(t *testing.T) {
	const direct = "ann\x1fbob"
	good := story(t)
	if err := Check(good); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		rule func(Trace) error
		bend func(Trace) Trace
		want string
	}{
		{"answer to nobody", CheckAnswers, func(t Trace) Trace { t.answer(2).Origin.Tag = 99; return t }, "tag 99 was never submitted"},
		{"answer to a refused command", CheckAnswers, func(t Trace) Trace {
			return append(t, Step{Answer: &store.Answer{Origin: origin(t[len(t)-1].Submitted.Command)}})
		}, "refused at admission (closed)"},
		{"second answer", CheckAnswers, func(t Trace) Trace { return append(t, Step{Answer: t.answer(2)}) }, "tag 2 was answered twice"},
		{"no answer", CheckAnswers, func(t Trace) Trace {
			a := t.answer(4)
			return t.without(func(s Step) bool { return s.Answer == a })
		}, "tag 4 was taken and got no answer"},
		{"admission refusal as an answer", CheckAnswers, func(t Trace) Trace { t.answer(2).Refusal = store.Busy; return t }, "got busy after it was taken"},
		{"refusal by Submit", CheckAnswers, func(t Trace) Trace { t[len(t)-1].Submitted.Refusal = store.Conflict; return t }, "no admission refusal"},
		{"another origin", CheckAnswers, func(t Trace) Trace { t.answer(2).Origin.Conn++; return t }, "answers: origin"},

		{"hole in Pos", CheckPositions, func(t Trace) Trace { t.message(direct, 1).To[1].Pos++; return t }, `"bob" has Pos 3, want 2`},
		{"Pos again", CheckPositions, func(t Trace) Trace { t.message(direct, 1).To[1].Pos--; return t }, `"bob" has Pos 1, want 2`},
		{"nobody's entry", CheckPositions, func(t Trace) Trace { t.message(direct, 1).To = nil; return t }, "entered no inbox"},

		{"hole in Seq", CheckSeqs, func(t Trace) Trace { t.message("tram", 2).Message.Seq = 3; return t }, "{tram 3} follows Seq 1"},
		{"two messages at a Seq", CheckSeqs, func(t Trace) Trace { t.message("tram", 2).Message.Seq = 1; return t }, "{tram 1} is two messages"},
		{"message id again", CheckSeqs, func(t Trace) Trace {
			t.message("tram", 2).Message.ID = t.message("tram", 1).Message.ID
			return t
		}, "have the same message id"},

		{"message without a command", CheckOutcomes, func(t Trace) Trace { t.message(direct, 1).Origin.Tag = 99; return t }, "has no command"},
		{"message of a refused command", CheckOutcomes, func(t Trace) Trace { t.answer(4).Refusal = store.NotMember; return t }, "was answered with a message"},
		{"refused, and yet stored", CheckOutcomes, func(t Trace) Trace {
			*t.answer(4) = store.Answer{Origin: t.answer(4).Origin, Refusal: store.NotMember}
			return t
		}, "stored {tram 1} and was answered not a member, Seq 0"},
		{"another sender", CheckOutcomes, func(t Trace) Trace { t.message(direct, 1).Message.Sender = "bob"; return t }, "not what its command said"},
		{"origin lost without a reopening", CheckOutcomes, func(t Trace) Trace { t.message("tram", 1).Origin = store.Origin{}; return t }, "has no command"},
		{"sender left out", CheckOutcomes, func(t Trace) Trace { t.message(direct, 1).To = t.message(direct, 1).To[1:]; return t }, "leaves its sender out"},
		{"answer before the event", CheckOutcomes, func(t Trace) Trace {
			e := t.message("tram", 2)
			return append(t.without(func(s Step) bool { return s.Event == e }), Step{Event: e})
		}, "before Committed told of it"},
		{"answer with another Seq", CheckOutcomes, func(t Trace) Trace { t.answer(8).Seq = 1; return t }, "which is another message"},
		{"answer with another message id", CheckOutcomes, func(t Trace) Trace { t.answer(3).MessageID[0]++; return t }, "which is another message"},
		{"answer with another time", CheckOutcomes, func(t Trace) Trace { t.answer(3).Time++; return t }, "which is another message"},

		{"client id again", CheckDedup, func(t Trace) Trace {
			second := t.message(direct, 2).Message
			second.Sender, second.ClientID = "ann", t.message(direct, 1).Message.ClientID
			second.Time += (7*24*time.Hour - time.Second).Milliseconds()
			return t
		}, "have one client id"},

		{"message to a third user", CheckDelivery, func(t Trace) Trace { t.message(direct, 1).To[1].User = "cid"; return t }, "is no member"},
		{"message missing", CheckDelivery, func(t Trace) Trace { t.message(direct, 1).To = t.message(direct, 1).To[:1]; return t }, "got message 2, want 1"},
		{"last message missing", CheckDelivery, func(t Trace) Trace { t.message(direct, 2).To = t.message(direct, 2).To[:1]; return t }, "messages up to 1 of 2"},
		{"peer left out", CheckDelivery, func(t Trace) Trace {
			t.message(direct, 1).To = t.message(direct, 1).To[:1]
			t.message(direct, 2).To = t.message(direct, 2).To[:1]
			return t
		}, "got nothing"},
		{"message after leaving", CheckDelivery, func(t Trace) Trace {
			e := t.message("tram", 2)
			e.To = append(e.To, store.Recipient{User: "bob", Pos: 5})
			return t
		}, "is no member"},
		{"joining twice", CheckDelivery, func(t Trace) Trace { *t.told(false).Membership = *t.told(true).Membership; return t }, "which is no change"},
		{"joining too early", CheckDelivery, func(t Trace) Trace { t.told(true).Membership.FirstSeq = 0; return t }, "joins with"},
		{"leaving too early", CheckDelivery, func(t Trace) Trace { t.told(false).Membership.LastSeq = 0; return t }, "leaves with"},
		{"leaving with a first Seq", CheckDelivery, func(t Trace) Trace { t.told(false).Membership.FirstSeq = 1; return t }, "leaves with"},
		{"a leaver who is not told", CheckDelivery, func(t Trace) Trace {
			e := t.told(false)
			two := t.message("tram", 2)
			t.answer(7).Seq = 1
			return t.without(func(s Step) bool { return s.Event == e || s.Event == two })
		}, "got 1 membership entries, want 2"},
		{"one who joined and is not told", CheckDelivery, func(t Trace) Trace {
			t.told(true).To = t.told(true).To[:2]
			t.message("tram", 1).To = t.message("tram", 1).To[:2]
			t.message("tram", 2).To = t.message("tram", 2).To[:1]
			return t
		}, "got no membership entry, want 1"},
		{"kind that does not fit", CheckDelivery, func(t Trace) Trace { t.message(direct, 1).Kind = store.KindRead; return t }, "kind 3 does not fit"},
		{"event without content", CheckDelivery, func(t Trace) Trace { t.message(direct, 1).Message = nil; return t }, "event of kind 1: kind 1 does not fit"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := test.rule(good); err != nil {
				t.Fatalf("before: %v", err)
			}
			err := test.rule(test.bend(good.mutable()))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestCheckCursor(t *testing.T) {
	at := func(pos uint64) store.Start { return store.Start{HasCursor: true, Cursor: pos} }
	none := store.Start{}
	tests := []struct {
		name string
		seen []store.Start
		want string
	}{
		{"none", []store.Start{none, none}, ""},
		{"forward", []store.Start{none, at(0), at(0), at(3), at(5)}, ""},
		{"back", []store.Start{at(3), at(0)}, "0 after 3"},
		{"gone", []store.Start{at(3), none}, "is gone"},
		{"not acknowledged", []store.Start{at(4)}, "4 was not acknowledged"},
		{"a position without a cursor", []store.Start{{Cursor: 3}}, "no cursor, at 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := CheckCursor([]uint64{5, 0, 3}, test.seen)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// The replay finds pages that show something else than what was announced.
func TestReplayFindsWrongPages(t *testing.T) {
	good := story(t)
	r := NewReplay(append(good, Step{Trimmed: &Trimming{Conversation: "tram", UpTo: 1}}, Step{Trimmed: &Trimming{User: "cid", UpTo: 1}}))
	one, two := good.message("tram", 1).Message, good.message("tram", 2).Message
	read := store.HistoryRead{User: "bob", Conversation: "tram", From: 1, To: 2, MaxBytes: 100}
	whole := store.HistoryRead{User: "ann", Conversation: "tram", From: 2, To: 2, MaxBytes: 100}
	gaps := []store.Gap{{From: 1, To: 1, Reason: store.Trimmed}, {From: 2, To: 2, Reason: store.NotJoined}}
	for _, test := range []struct {
		name string
		read store.HistoryRead
		page store.HistoryPage
		want string
	}{
		{"right", read, store.HistoryPage{Head: 2, Gaps: gaps}, ""},
		{"right", whole, store.HistoryPage{Head: 2, FirstVisible: 2, Messages: []*store.Message{two}}, ""},
		{"refused", read, store.HistoryPage{Refusal: store.NotMember}, "refusal not a member, want none"},
		{"wrong head", read, store.HistoryPage{Head: 1, Gaps: gaps}, "head 1"},
		{"wrong first visible", whole, store.HistoryPage{Head: 2, FirstVisible: 1, Messages: []*store.Message{two}}, "first visible 1"},
		{"trimmed message", read, store.HistoryPage{Head: 2, Messages: []*store.Message{one}, Gaps: gaps[1:]}, "Seq 1 (gap reason 3) is wrong"},
		{"gap missing", read, store.HistoryPage{Head: 2, Gaps: gaps[:1]}, "the page ends with 1, More is false"},
		{"gap too long", read, store.HistoryPage{Head: 2, Gaps: []store.Gap{gaps[0], {From: 2, To: 3, Reason: store.NotJoined}}}, "the page goes on after Seq 2"},
		{"message missing", whole, store.HistoryPage{Head: 2, FirstVisible: 2, More: true}, "although Seq 2 fits"},
		{"only gaps missing", read, store.HistoryPage{Head: 2, Gaps: gaps[:1], More: true}, "although Seq 2 fits"},
		{"too much", whole, store.HistoryPage{Head: 2, FirstVisible: 2, Messages: []*store.Message{two, two}}, "the page goes on"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := r.CheckHistory(test.read, test.page)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	cid := store.InboxRead{User: "cid", From: 2, Max: 10, MaxBytes: 100}
	void, second := store.Entry{Pos: 2, Kind: store.KindMessage, Void: true}, store.Entry{Pos: 3, Kind: store.KindMessage, Message: two}
	for _, test := range []struct {
		name string
		page store.InboxPage
		want string
	}{
		{"right", store.InboxPage{Head: 3, Trimmed: 1, Entries: []store.Entry{void, second}}, ""},
		{"wrong head", store.InboxPage{Head: 4, Trimmed: 1}, "head 4"},
		{"wrong trimmed", store.InboxPage{Head: 3}, "trimmed 0"},
		{"too few", store.InboxPage{Head: 3, Trimmed: 1, Entries: []store.Entry{void}}, "1 entries, want 2"},
		{"not void", store.InboxPage{Head: 3, Trimmed: 1, Entries: []store.Entry{{Pos: 2, Kind: store.KindMessage, Message: one}, second}}, "got tram 1, want void"},
		{"another message", store.InboxPage{Head: 3, Trimmed: 1, Entries: []store.Entry{void, {Pos: 3, Kind: store.KindMessage, Message: one}}}, "got tram 1, want tram 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := r.CheckInbox(cid, test.page)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
