package memstore

import (
	"slices"

	"lifeline/store"
)

// user is one user's inbox.
type user struct {
	trimmed uint64
	inbox   []entry // the positions trimmed+1, trimmed+2, …
}

// entry is one position of an inbox. A message is pointed to, a membership is kept as it was.
type entry struct {
	kind         store.Kind
	conversation string
	seq          uint64
	membership   *store.Membership
}

func (u *user) head() uint64 { return u.trimmed + uint64(len(u.inbox)) }

// deliver appends an entry to the inboxes of users.
func (s *Store) deliver(users []string, e entry) []store.Recipient {
	to := make([]store.Recipient, len(users))
	for i, name := range users {
		u := s.users[name]
		if u == nil {
			u = &user{}
			s.users[name] = u
		}
		u.inbox = append(u.inbox, e)
		to[i] = store.Recipient{User: name, Pos: u.head()}
	}
	return to
}

// Trim deletes a user's inbox entries up to a position; its head stays. For tests.
func (s *Store) Trim(name string, upTo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[name]
	if u == nil {
		return
	}
	if upTo = min(upTo, u.head()); upTo > u.trimmed {
		u.inbox = slices.Clone(u.inbox[upTo-u.trimmed:])
		u.trimmed = upTo
	}
}
