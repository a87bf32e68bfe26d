package memstore

import (
	"math"
	"slices"

	"lifeline/store"
)

// forever ends the span of a present member.
const forever = math.MaxUint64

// span is a range of Seqs that a member may see. It is empty when the member left before a message came.
type span struct{ first, last uint64 }

// conversation is a log of messages and who may see which of them.
type conversation struct {
	head     uint64
	trimmed  uint64
	messages map[uint64]*store.Message // by Seq, above trimmed
	version  uint64                    // of the last Members command
	spans    map[string][]span         // by user, rising
	present  []string                  // users whose last span is open, in byte order
}

func newConversation() *conversation {
	return &conversation{messages: map[uint64]*store.Message{}, spans: map[string][]span{}}
}

// newDirect makes the conversation of two users, who see all of it.
func newDirect(a, b string) *conversation {
	c := newConversation()
	for _, user := range []string{a, b} {
		if !c.member(user) {
			c.join(user)
		}
	}
	return c
}

func (c *conversation) member(user string) bool {
	_, found := slices.BinarySearch(c.present, user)
	return found
}

func (c *conversation) join(user string) {
	c.spans[user] = append(c.spans[user], span{first: c.head + 1, last: forever})
	at, _ := slices.BinarySearch(c.present, user)
	c.present = slices.Insert(c.present, at, user)
}

func (c *conversation) leave(user string) {
	spans := c.spans[user]
	spans[len(spans)-1].last = c.head
	at, _ := slices.BinarySearch(c.present, user)
	c.present = slices.Delete(c.present, at, at+1)
}

func (c *conversation) visible(user string, seq uint64) bool {
	return slices.ContainsFunc(c.spans[user], func(s span) bool { return s.first <= seq && seq <= s.last })
}

// firstVisible returns the first Seq inside the user's spans that is not trimmed, 0 if there is none.
func (c *conversation) firstVisible(user string) uint64 {
	for _, s := range c.spans[user] {
		if first := max(s.first, c.trimmed+1); first <= s.last {
			return first
		}
	}
	return 0
}

// append gives the message the next Seq.
func (c *conversation) append(m *store.Message) {
	c.head++
	m.Seq = c.head
	c.messages[m.Seq] = m
}

// TrimConversation deletes the messages of a conversation up to a Seq; its head stays. For tests.
func (s *Store) TrimConversation(name string, upTo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[name]
	if c == nil {
		return
	}
	for upTo = min(upTo, c.head); c.trimmed < upTo; {
		c.trimmed++
		delete(c.messages, c.trimmed)
	}
}
