package storetest

import (
	"cmp"
	"fmt"
	"slices"

	"lifeline/store"
)

// view is one user's sight of one conversation, as the user's inbox tells it.
type view struct {
	member  bool
	next    uint64 // the Seq that must come next
	changes int    // membership entries
}

// seat is a user in a conversation.
type seat struct{ user, conversation string }

// CheckDelivery holds S9, S10, S12 and S13: in each inbox the messages of a conversation come without a hole from joining
// to leaving, nothing comes outside, and at the end of the trace nothing is owed.
func CheckDelivery(t Trace) error {
	views := map[seat]*view{}
	heads := t.heads()
	for _, e := range t.events() {
		for _, to := range e.To {
			if err := follow(views, to.User, e); err != nil {
				return err
			}
		}
	}
	if err := owed(views, heads); err != nil {
		return err
	}
	return changed(t, views)
}

// heads returns the last Seq of each conversation that an event or an answer told of.
func (t Trace) heads() map[string]uint64 {
	heads := map[string]uint64{}
	submissions := t.submissions()
	for _, step := range t {
		if e := step.Event; e != nil && e.Message != nil {
			heads[e.Message.Conversation] = max(heads[e.Message.Conversation], e.Message.Seq)
		}
		if a := step.Answer; a != nil && a.Seq > 0 && submissions[a.Origin.Tag] != nil {
			if send, ok := submissions[a.Origin.Tag].Command.(*store.Send); ok {
				heads[send.Conversation()] = max(heads[send.Conversation()], a.Seq)
			}
		}
	}
	return heads
}

// follow moves a user's view by one entry.
func follow(views map[seat]*view, user string, e *store.Event) error {
	switch {
	case e.Kind == store.KindMessage && e.Message != nil && e.Membership == nil:
		return followMessage(views, user, e.Message)
	case e.Kind == store.KindConversation && e.Membership != nil && e.Message == nil:
		return followMembership(views, user, e.Membership)
	}
	return fmt.Errorf("delivery: %s: kind %d does not fit its content", describe(e), e.Kind)
}

func followMessage(views map[seat]*view, user string, m *store.Message) error {
	at := seat{user, m.Conversation}
	v := views[at]
	if a, b, direct := store.Peers(m.Conversation); direct && v == nil {
		v = &view{member: user == a || user == b, next: 1}
		views[at] = v
	}
	if v == nil || !v.member {
		return fmt.Errorf("delivery: %v got message %d and is no member", at, m.Seq)
	}
	if m.Seq != v.next {
		return fmt.Errorf("delivery: %v got message %d, want %d", at, m.Seq, v.next)
	}
	v.next++
	return nil
}

func followMembership(views map[seat]*view, user string, m *store.Membership) error {
	at := seat{user, m.Conversation}
	v := views[at]
	if v == nil {
		v = &view{next: 1}
		views[at] = v
	}
	v.changes++
	switch {
	case m.Member == v.member:
		return fmt.Errorf("delivery: %v was told %+v, which is no change", at, *m)
	case m.Member && (m.FirstSeq < v.next || m.LastSeq != 0):
		return fmt.Errorf("delivery: %v joins with %+v, after having seen %d", at, *m, v.next-1)
	case !m.Member && (m.LastSeq+1 != v.next || m.FirstSeq != 0):
		return fmt.Errorf("delivery: %v leaves with %+v, after having seen %d", at, *m, v.next-1)
	}
	v.member = m.Member
	if m.Member {
		v.next = m.FirstSeq
	}
	return nil
}

// owed says what a member has not got by the end.
func owed(views map[seat]*view, heads map[string]uint64) error {
	for at, v := range views {
		if v.member && v.next != heads[at.conversation]+1 {
			return fmt.Errorf("delivery: %v has got messages up to %d of %d", at, v.next-1, heads[at.conversation])
		}
	}
	for conversation := range heads {
		a, b, direct := store.Peers(conversation)
		if direct && (views[seat{a, conversation}] == nil || views[seat{b, conversation}] == nil) {
			return fmt.Errorf("delivery: a peer of %q got nothing", conversation)
		}
	}
	return nil
}

// changed compares the membership entries with what the accepted Members commands, carried out by version, change.
func changed(t Trace, views map[seat]*view) error {
	present := map[seat]bool{}
	changes := map[seat]int{}
	for _, c := range t.accepted() {
		after := map[seat]bool{}
		for _, user := range c.Remove {
			after[seat{user, c.Group}] = false
		}
		for _, user := range c.Add {
			after[seat{user, c.Group}] = true
		}
		for at, member := range after {
			if member != present[at] {
				present[at] = member
				changes[at]++
			}
		}
	}
	for at, v := range views {
		if v.changes != changes[at] {
			return fmt.Errorf("delivery: %v got %d membership entries, want %d", at, v.changes, changes[at])
		}
	}
	for at, n := range changes {
		if views[at] == nil {
			return fmt.Errorf("delivery: %v got no membership entry, want %d", at, n)
		}
	}
	return nil
}

// accepted returns the Members commands that were carried out, by version.
func (t Trace) accepted() []*store.Members {
	submissions := t.submissions()
	var accepted []*store.Members
	for _, step := range t {
		if a := step.Answer; a != nil && a.Refusal == store.None && submissions[a.Origin.Tag] != nil {
			if c, ok := submissions[a.Origin.Tag].Command.(*store.Members); ok {
				accepted = append(accepted, c)
			}
		}
	}
	slices.SortStableFunc(accepted, func(a, b *store.Members) int { return cmp.Compare(a.Version, b.Version) })
	return accepted
}
