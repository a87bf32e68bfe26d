package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"lifeline/store"
)

// Check holds a whole trace of a settled store against every rule. The numbers are those of docs/store.md.
func Check(t Trace) error {
	return errors.Join(CheckAnswers(t), CheckPositions(t), CheckSeqs(t), CheckOutcomes(t), CheckDedup(t), CheckDelivery(t))
}

// submissions finds the commands of a trace by their tags.
func (t Trace) submissions() map[uint64]*Submission {
	byTag := map[uint64]*Submission{}
	for _, step := range t {
		if s := step.Submitted; s != nil {
			byTag[s.Tag] = s
		}
	}
	return byTag
}

// events returns the events of a trace.
func (t Trace) events() []*store.Event {
	var events []*store.Event
	for _, step := range t {
		if step.Event != nil {
			events = append(events, step.Event)
		}
	}
	return events
}

// atAdmission reports whether a refusal is given by Submit only.
func atAdmission(r store.Refusal) bool {
	return r == store.Busy || r == store.StorageFull || r == store.Closed
}

// CheckAnswers holds S1 and S2: one answer to each command that was taken, none to the others.
func CheckAnswers(t Trace) error {
	submissions := t.submissions()
	answered := map[uint64]bool{}
	for _, step := range t {
		a := step.Answer
		if a == nil {
			continue
		}
		s := submissions[a.Origin.Tag]
		switch {
		case s == nil:
			return fmt.Errorf("answers: tag %d was never submitted", a.Origin.Tag)
		case s.Refusal != store.None:
			return fmt.Errorf("answers: tag %d was answered and refused at admission (%v)", s.Tag, s.Refusal)
		case answered[s.Tag]:
			return fmt.Errorf("answers: tag %d was answered twice", s.Tag)
		case atAdmission(a.Refusal):
			return fmt.Errorf("answers: tag %d got %v after it was taken", s.Tag, a.Refusal)
		case a.Origin != origin(s.Command):
			return fmt.Errorf("answers: origin %+v, want %+v", a.Origin, origin(s.Command))
		}
		answered[s.Tag] = true
	}
	for tag, s := range submissions {
		if s.Refusal == store.None && !answered[tag] {
			return fmt.Errorf("answers: tag %d was taken and got no answer", tag)
		}
		if s.Refusal != store.None && !atAdmission(s.Refusal) {
			return fmt.Errorf("answers: Submit gave %v, which is no admission refusal", s.Refusal)
		}
	}
	return nil
}

// CheckPositions holds S7 for inboxes: the positions of each user are announced as 1, 2, 3, …
func CheckPositions(t Trace) error {
	head := map[string]uint64{}
	for _, e := range t.events() {
		if len(e.To) == 0 {
			return fmt.Errorf("positions: an event entered no inbox: %s", describe(e))
		}
		for _, to := range e.To {
			if head[to.User]++; to.Pos != head[to.User] {
				return fmt.Errorf("positions: %s of %q has Pos %d, want %d", describe(e), to.User, to.Pos, head[to.User])
			}
		}
	}
	return nil
}

// place is where a message is.
type place struct {
	conversation string
	seq          uint64
}

// CheckSeqs holds S7 for conversations and S11: Seqs come as 1, 2, 3, …, each is one message, and ids are unique.
func CheckSeqs(t Trace) error {
	head := map[string]uint64{}
	first := map[place]*store.Message{}
	ids := map[store.MessageID]place{}
	for _, e := range t.events() {
		m := e.Message
		if m == nil {
			continue
		}
		at := place{m.Conversation, m.Seq}
		if known := first[at]; known != nil {
			if !sameMessage(known, m) {
				return fmt.Errorf("seqs: %v is two messages: %+v and %+v", at, known, m)
			}
			continue
		}
		if head[m.Conversation]++; m.Seq != head[m.Conversation] {
			return fmt.Errorf("seqs: %v follows Seq %d", at, head[m.Conversation]-1)
		}
		if other, used := ids[m.ID]; used {
			return fmt.Errorf("seqs: %v and %v have the same message id", at, other)
		}
		first[at], ids[m.ID] = m, at
	}
	return nil
}

// CheckOutcomes holds S3, S4 and S6: a message comes from the Send that made it, and an answer follows what it tells,
// unless that is still owed to a large group.
func CheckOutcomes(t Trace) error {
	o := outcomes{
		submissions: t.submissions(),
		large:       t.large(),
		stored:      map[place]*store.Message{},
		causes:      map[uint64]place{},
		owing:       map[place]*Submission{},
	}
	var early []*store.Answer
	for _, step := range t {
		o.reopened = o.reopened || step.Reopened
		if e := step.Event; e != nil && e.Message != nil && o.stored[at(e.Message)] == nil {
			if err := o.told(e); err != nil {
				return err
			}
		}
		if a := step.Answer; a != nil {
			if o.owed(a) {
				early = append(early, a)
				continue
			}
			if err := o.answered(a); err != nil {
				return err
			}
		}
	}
	for _, a := range early {
		if err := o.answered(a); err != nil {
			return err
		}
	}
	return nil
}

// outcomes is what a trace has told so far.
type outcomes struct {
	submissions map[uint64]*Submission // by tag
	large       map[string]bool        // groups that may owe
	stored      map[place]*store.Message
	causes      map[uint64]place      // by tag
	owing       map[place]*Submission // answered, and not told yet
	reopened    bool
}

// largeGroup is the number of members above which a group's entries may come later than the answer.
const largeGroup = 200

// large returns the groups that ever had so many members, counting those who left.
func (t Trace) large() map[string]bool {
	members := map[string]map[string]bool{}
	large := map[string]bool{}
	for _, c := range t.accepted() {
		if members[c.Group] == nil {
			members[c.Group] = map[string]bool{}
		}
		for _, user := range c.Add {
			members[c.Group][user] = true
		}
		large[c.Group] = len(members[c.Group]) > largeGroup
	}
	return large
}

// told notes the first event of a message.
func (o *outcomes) told(e *store.Event) error {
	m := at(e.Message)
	s := o.submissions[e.Origin.Tag]
	if o.reopened && e.Origin == (store.Origin{}) {
		s = o.owing[m] // the store does not know any more who asked
	}
	if s == nil || s.Refusal != store.None {
		return fmt.Errorf("outcomes: %s has no command", describe(e))
	}
	if err := cameFrom(e, s.Command); err != nil {
		return err
	}
	o.stored[m], o.causes[s.Tag] = e.Message, m
	return nil
}

// owed reports whether an answer tells of a message that a large group's inboxes have not got yet.
func (o *outcomes) owed(a *store.Answer) bool {
	s := o.submissions[a.Origin.Tag]
	if s == nil || a.Refusal != store.None {
		return false
	}
	send, ok := s.Command.(*store.Send)
	if !ok || !o.large[send.ToGroup] || o.stored[place{send.ToGroup, a.Seq}] != nil {
		return false
	}
	o.owing[place{send.ToGroup, a.Seq}] = s
	return true
}

// answered compares an answer with what was told.
func (o *outcomes) answered(a *store.Answer) error {
	if err := tells(a, o.submissions[a.Origin.Tag], o.stored); err != nil {
		return err
	}
	if cause, ok := o.causes[a.Origin.Tag]; ok && (a.Refusal != store.None || a.Seq != cause.seq) {
		return fmt.Errorf("outcomes: tag %d stored %v and was answered %v, Seq %d", a.Origin.Tag, cause, a.Refusal, a.Seq)
	}
	return nil
}

// cameFrom compares the first event of a message with the command it came from.
func cameFrom(e *store.Event, c store.Command) error {
	m := e.Message
	s, ok := c.(*store.Send)
	if !ok || m.Conversation != s.Conversation() || m.Sender != s.Sender || m.SenderDevice != s.SenderDevice ||
		!bytes.Equal(m.ClientID, s.ClientID) || !bytes.Equal(m.Payload, s.Payload) || m.State != store.Stored ||
		e.NoNotify != s.NoNotify || e.Origin != s.Origin && e.Origin != (store.Origin{}) {
		return fmt.Errorf("outcomes: %s is not what its command said", describe(e))
	}
	for _, to := range e.To {
		if to.User == m.Sender {
			return nil
		}
	}
	return fmt.Errorf("outcomes: the first event of %s leaves its sender out", describe(e))
}

// tells compares an answer with the messages announced before it.
func tells(a *store.Answer, s *Submission, stored map[place]*store.Message) error {
	if s == nil {
		return nil // CheckAnswers says so
	}
	send, ok := s.Command.(*store.Send)
	if !ok || a.Refusal != store.None {
		if a.Seq != 0 || a.MessageID != (store.MessageID{}) {
			return fmt.Errorf("outcomes: tag %d (%v) was answered with a message", s.Tag, a.Refusal)
		}
		return nil
	}
	m := stored[place{send.Conversation(), a.Seq}]
	if m == nil {
		return fmt.Errorf("outcomes: tag %d was answered with Seq %d before Committed told of it", s.Tag, a.Seq)
	}
	if m.ID != a.MessageID || m.Time != a.Time || keyOf(m) != keyOfSend(send) || !bytes.Equal(m.Payload, send.Payload) {
		return fmt.Errorf("outcomes: tag %d was answered with Seq %d, which is another message", s.Tag, a.Seq)
	}
	return nil
}

// dedupKept is how long a client id means one message.
const dedupKept = 7 * 24 * time.Hour

// CheckDedup holds S8: within seven days a client id is one message.
func CheckDedup(t Trace) error {
	last := map[key]*store.Message{}
	for _, e := range t.events() {
		m := e.Message
		if m == nil {
			continue
		}
		before := last[keyOf(m)]
		if before != nil && before.Seq != m.Seq && m.Time-before.Time < dedupKept.Milliseconds() {
			return fmt.Errorf("dedup: Seq %d and %d of %q have one client id", before.Seq, m.Seq, m.Conversation)
		}
		if before == nil || m.Seq > before.Seq {
			last[keyOf(m)] = m
		}
	}
	return nil
}

// key is the scope of a client id, and the id.
type key struct{ conversation, sender, device, client string }

func keyOf(m *store.Message) key {
	return key{m.Conversation, m.Sender, m.SenderDevice, string(m.ClientID)}
}

func keyOfSend(s *store.Send) key {
	return key{s.Conversation(), s.Sender, s.SenderDevice, string(s.ClientID)}
}

func at(m *store.Message) place { return place{m.Conversation, m.Seq} }

func origin(c store.Command) store.Origin {
	switch c := c.(type) {
	case *store.Send:
		return c.Origin
	case *store.Members:
		return c.Origin
	case *store.Forget:
		return c.Origin
	}
	return store.Origin{}
}

func sameMessage(a, b *store.Message) bool {
	return at(a) == at(b) && a.ID == b.ID && a.Time == b.Time && a.State == b.State && keyOf(a) == keyOf(b) && bytes.Equal(a.Payload, b.Payload)
}

// describe names what an event is about.
func describe(e *store.Event) string {
	switch {
	case e.Message != nil:
		return fmt.Sprintf("message %d of %q", e.Message.Seq, e.Message.Conversation)
	case e.Membership != nil:
		return fmt.Sprintf("membership of %q", e.Membership.Conversation)
	}
	return fmt.Sprintf("event of kind %d", e.Kind)
}
