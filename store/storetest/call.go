package storetest

import "lifeline/store"

// Call submits a command and waits for its answer, which may be a refusal at admission. It replaces the command's Reply
// and keeps its Origin. For the tests of others; it waits for ever.
func Call(s store.Store, c store.Command) store.Answer {
	answer := make(reply, 1)
	var origin store.Origin
	switch c := c.(type) {
	case *store.Send:
		c.Reply, origin = answer, c.Origin
	case *store.Members:
		c.Reply, origin = answer, c.Origin
	case *store.Forget:
		c.Reply, origin = answer, c.Origin
	}
	if refusal := s.Submit(c); refusal != store.None {
		return store.Answer{Origin: origin, Refusal: refusal}
	}
	return <-answer
}

// reply takes one answer.
type reply chan store.Answer

func (r reply) Reply(a store.Answer) { r <- a }
