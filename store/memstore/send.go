package memstore

import (
	"bytes"
	"time"

	"lifeline/store"
)

// dedupKept is how long a client id is remembered.
const dedupKept = 7 * 24 * time.Hour

// dedupKey is the scope in which a client id means one message.
type dedupKey struct{ conversation, sender, device, client string }

// firstSend is what the first Send of a client id had and got. It outlives the message.
type firstSend struct {
	at      time.Time
	payload []byte
	answer  store.Answer
}

func (s *Store) send(c *store.Send, now time.Time) (store.Answer, []store.Event) {
	refuse := func(r store.Refusal) (store.Answer, []store.Event) {
		return store.Answer{Origin: c.Origin, Refusal: r}, nil
	}
	if r := malformed(c); r != store.None {
		return refuse(r)
	}
	name := c.Conversation()
	conv := s.conversations[name]
	if conv == nil {
		if c.ToGroup != "" {
			return refuse(store.NoSuchGroup)
		}
		conv = newDirect(c.Sender, c.ToUser)
		s.conversations[name] = conv
	}
	// Before the sender's membership: the retry of a message that is stored must not be told that it is not.
	key := dedupKey{name, c.Sender, c.SenderDevice, string(c.ClientID)}
	if first, ok := s.dedup[key]; ok && now.Sub(first.at) < dedupKept {
		if !bytes.Equal(first.payload, c.Payload) {
			return refuse(store.Conflict)
		}
		first.answer.Origin = c.Origin
		return first.answer, nil
	}
	if !conv.member(c.Sender) {
		return refuse(store.NotMember)
	}
	if c.ToGroup != "" && s.overdue(c.ToGroup) {
		return refuse(store.Overdue)
	}
	m := &store.Message{
		Conversation: name,
		ID:           s.newID(),
		Sender:       c.Sender,
		SenderDevice: c.SenderDevice,
		ClientID:     c.ClientID,
		Time:         now.UnixMilli(),
		Payload:      c.Payload,
	}
	conv.append(m)
	answer := store.Answer{Origin: c.Origin, Seq: m.Seq, MessageID: m.ID, Time: m.Time}
	s.dedup[key] = firstSend{at: now, payload: c.Payload, answer: answer}
	return answer, []store.Event{{
		Kind:     store.KindMessage,
		Origin:   c.Origin,
		Message:  m,
		NoNotify: c.NoNotify,
		To:       s.deliver(conv.present, entry{kind: store.KindMessage, conversation: name, seq: m.Seq}),
	}}
}

// malformed returns the refusal that needs no look at what is stored.
func malformed(c *store.Send) store.Refusal {
	to := c.ToUser + c.ToGroup
	both := c.ToUser != "" && c.ToGroup != ""
	if both || !store.ValidID(to) || !store.ValidID(c.Sender) || !store.ValidID(c.SenderDevice) || !store.ValidClientID(c.ClientID) {
		return store.InvalidID
	}
	if len(c.Payload) > store.MaxPayload {
		return store.TooLarge
	}
	return store.None
}
