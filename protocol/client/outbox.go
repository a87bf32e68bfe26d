package client

import (
	"slices"
	"time"

	"lifeline/protocol"
)

// Outgoing is a message on its way to the server. It must not be changed once it was given to Send.
type Outgoing struct {
	ToUser  string // exactly one of ToUser and ToGroup is set
	ToGroup string
	// ClientID is kept through every retry, so that the server stores the message once [P-6.16]. 1 to 64 bytes; if empty,
	// Send makes a random one.
	ClientID []byte
	Payload  []byte
	NoNotify bool      // do not wake devices for it [P-6.19]
	Created  time.Time // if zero, now; after 6 days it is given up
}

// Outbox keeps what the server has not answered yet, through the end of the process. Add is called by the goroutine
// that calls Send, Remove by the loop; an implementation takes care that they do not meet.
type Outbox interface {
	// Load returns what is waiting, in the order it was added.
	Load() ([]*Outgoing, error)
	// Add returns when the message is durable.
	Add(m *Outgoing) error
	// Remove forgets messages by client id. It need not be durable: a message that comes back is stored only once.
	Remove(clientIDs [][]byte) error
}

// MemoryOutbox is an Outbox that a process forgets. The zero value is ready.
type MemoryOutbox struct{}

var _ Outbox = (*MemoryOutbox)(nil)

// Load implements [Outbox].
func (*MemoryOutbox) Load() ([]*Outgoing, error) { return nil, nil }

// Add implements [Outbox].
func (*MemoryOutbox) Add(*Outgoing) error { return nil }

// Remove implements [Outbox].
func (*MemoryOutbox) Remove([][]byte) error { return nil }

// The rules of sending.
const (
	expiry        = 6 * 24 * time.Hour // the server forgets client ids after 7 days
	refusedMost   = 30 * time.Second   // cap of the wait between refusals without a hint
	usualInFlight = 64                 // unanswered Sends, unless the server says otherwise
)

// pending is an outbox entry and where it stands on the present connection.
type pending struct {
	message   *Outgoing
	id        uint64 // of the unanswered request; 0: it waits
	skipOrder bool
}

// sender decides what is sent when. Invariant: a message is sent only when every one before it is answered or in flight
// on this connection, so an outbox drains in its order [P-6.18]. It is a value with no clock of its own.
type sender struct {
	random func() float64

	queue    []*pending // oldest first
	limit    int        // unanswered Sends
	inFlight int
	refused  int             // refusals since the last message that was stored
	refusal  protocol.Status // the last of them
	draining bool            // after a refusal nothing is sent until everything in flight is answered
	hold     time.Time       // nor before this
}

func (s *sender) add(m *Outgoing) { s.queue = append(s.queue, &pending{message: m}) }

// connected begins with a connection on which nothing was sent: what has no answer is sent again [P-4.4].
func (s *sender) connected(limit int) {
	if limit <= 0 {
		limit = usualInFlight
	}
	s.limit, s.inFlight, s.refused, s.draining = limit, 0, 0, false
	s.hold, s.refusal = time.Time{}, protocol.Status{}
	for _, p := range s.queue {
		p.id, p.skipOrder = 0, false
	}
}

// next is the message to send now, nil if none.
func (s *sender) next(now time.Time) *pending {
	if s.draining || s.inFlight >= s.limit || now.Before(s.hold) {
		return nil
	}
	for _, p := range s.queue {
		if p.id == 0 {
			return p
		}
	}
	return nil
}

// sent notes that the message went out under a request id.
func (s *sender) sent(p *pending, id uint64) {
	p.id = id
	s.inFlight++
}

// answered takes the answer to a request. It returns the message if that was final: stored, or refused for good. A
// message that is refused for now waits in its place.
func (s *sender) answered(now time.Time, id uint64, status *protocol.Status) *Outgoing {
	i := slices.IndexFunc(s.queue, func(p *pending) bool { return p.id == id })
	if i < 0 || id == 0 {
		return nil
	}
	p := s.queue[i]
	p.id = 0
	s.inFlight--
	s.draining = s.draining && s.inFlight > 0
	if !status.Failed() || final(status) {
		s.queue = slices.Delete(s.queue, i, i+1)
		s.refused = 0
		if i == 0 { // messages wait for the oldest one
			s.refusal = protocol.Status{}
		}
		return p.message
	}
	s.draining = s.inFlight > 0
	if status.Code == protocol.CodeOutOfOrder {
		// Nothing of ours is before it: what the server waits for was given up.
		p.skipOrder = i == 0
		return nil
	}
	s.hold = latest(s.hold, now.Add(again(status, s.refused, s.random)))
	s.refused++
	s.refusal = *status
	return nil
}

// again is the wait before what was refused for now is asked again: the hint, or, after so many refusals before this one,
// a back-off that begins with none.
func again(s *protocol.Status, before int, random func() float64) time.Duration {
	if wait, ok := hint(s, random()); ok || before == 0 {
		return wait
	}
	return time.Duration(random() * float64(min(refusedMost, jitterBase<<min(before, 16))))
}

// held is the refusal for which messages wait; code 0: none.
func (s *sender) held() protocol.Status {
	if len(s.queue) == 0 {
		return protocol.Status{}
	}
	return s.refusal
}

// final tells whether a refused Send will be refused again.
func final(s *protocol.Status) bool {
	switch s.Retry {
	case protocol.RetryFixRequest, protocol.RetryStop, protocol.RetryIgnore:
		return true
	}
	return false
}

// expired takes out, one by one, the oldest message that waits if it has waited too long. What is in flight stays: it may
// have been stored.
func (s *sender) expired(now time.Time) *Outgoing {
	for i, p := range s.queue {
		if p.id != 0 {
			continue
		}
		if now.Sub(p.message.Created) < expiry {
			return nil
		}
		s.queue = slices.Delete(s.queue, i, i+1)
		return p.message
	}
	return nil
}

// due is when next or expired has something to do that it has not now; zero: not known.
func (s *sender) due(online bool) time.Time {
	var at time.Time
	for _, p := range s.queue {
		if p.id != 0 {
			continue
		}
		at = p.message.Created.Add(expiry)
		if online && !s.draining && s.inFlight < s.limit {
			at = earliest(at, s.hold)
		}
		break
	}
	return at
}

// earliest ignores times that are not known.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (m *Outgoing) frame(id uint64, skipOrder bool) *protocol.Send {
	f := &protocol.Send{ID: id, To: protocol.ToUser, ToID: []byte(m.ToUser), ClientID: m.ClientID, Payload: m.Payload,
		NoNotify: m.NoNotify, SkipOrder: skipOrder}
	if m.ToGroup != "" {
		f.To, f.ToID = protocol.ToGroup, []byte(m.ToGroup)
	}
	return f
}

func (m *Outgoing) fault() error {
	switch {
	case (m.ToUser == "") == (m.ToGroup == ""):
		return errRecipient
	case !protocol.ValidID([]byte(m.ToUser + m.ToGroup)):
		return errRecipientID
	case len(m.ClientID) > 0 && !protocol.ValidClientID(m.ClientID): // an empty one is drawn
		return errClientID
	case len(m.Payload) > protocol.PayloadCeiling:
		return errPayload
	}
	return nil
}
