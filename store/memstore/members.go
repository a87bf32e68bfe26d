package memstore

import (
	"maps"
	"slices"

	"lifeline/store"
)

func (s *Store) members(c *store.Members) (store.Answer, []store.Event) {
	refuse := func(r store.Refusal) (store.Answer, []store.Event) {
		return store.Answer{Origin: c.Origin, Refusal: r}, nil
	}
	invalid := func(id string) bool { return !store.ValidID(id) }
	if invalid(c.Group) || slices.ContainsFunc(c.Add, invalid) || slices.ContainsFunc(c.Remove, invalid) {
		return refuse(store.InvalidID)
	}
	conv := s.conversations[c.Group]
	if conv == nil {
		conv = newConversation()
	}
	if c.Version <= conv.version {
		return refuse(store.StaleVersion)
	}
	joining, leaving, total := change(conv, c.Add, c.Remove)
	if total > store.MaxMembers {
		return refuse(store.TooManyMembers)
	}
	if s.overdue(c.Group) {
		return refuse(store.Overdue)
	}
	conv.version = c.Version
	s.conversations[c.Group] = conv
	for _, user := range joining {
		conv.join(user)
	}
	for _, user := range leaving {
		conv.leave(user)
	}
	events := s.tell(nil, c, joining, &store.Membership{Conversation: c.Group, Member: true, FirstSeq: conv.head + 1})
	events = s.tell(events, c, leaving, &store.Membership{Conversation: c.Group, LastSeq: conv.head})
	return store.Answer{Origin: c.Origin}, events
}

// change returns who joins and who leaves, in byte order, and how many members there are then.
func change(conv *conversation, add, remove []string) (joining, leaving []string, total int) {
	before := map[string]bool{}
	for _, user := range conv.present {
		before[user] = true
	}
	after := maps.Clone(before)
	for _, user := range remove {
		delete(after, user)
	}
	for _, user := range add {
		after[user] = true
	}
	return without(after, before), without(before, after), len(after)
}

// without returns the users of a that are not in b, in byte order.
func without(a, b map[string]bool) []string {
	var users []string
	for user := range a {
		if !b[user] {
			users = append(users, user)
		}
	}
	slices.Sort(users)
	return users
}

// tell puts what changed into the users' inboxes.
func (s *Store) tell(events []store.Event, c *store.Members, users []string, m *store.Membership) []store.Event {
	if len(users) == 0 {
		return events
	}
	return append(events, store.Event{
		Kind:       store.KindConversation,
		Origin:     c.Origin,
		Membership: m,
		To:         s.deliver(users, entry{kind: store.KindConversation, membership: m}),
	})
}
