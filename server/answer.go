package server

import (
	"lifeline/server/auth"
	"lifeline/server/delivery"
	"lifeline/server/session"
	"lifeline/store"
)

// answer is one unit of a mailbox's first lane: exactly one of its parts is set. It names the connection it is for, and
// does nothing when that connection is gone.
type answer struct {
	kind  answerKind
	conn  session.ConnID
	at    int64        // node clock, nanoseconds, when it was posted
	store store.Answer // stored
	any   any          // the rest: what the kind says
}

type answerKind uint8

const (
	answerStored   answerKind = iota // store: the outcome of a Send
	answerAuth                       // *auth.Answer
	answerRead                       // *delivery.ReadAnswer
	answerClaim                      // *claim
	answerLost                       // session.Verdict: another loop or another node holds a winner
	answerPresence                   // *presenceAnswer
	answerStop                       // close every connection: the node stops
	answerCall                       // func(): work for the loop from an operator's request
)

// claim asks a loop whether it holds another session of the same user and device.
type claim struct {
	user, device string
	platform     uint8
	hash         uint64
	claim        session.Claim
}

// Reply takes the outcome of a Send from the store's goroutine.
func (sh *Shard) Reply(a store.Answer) {
	sh.mail.post(answer{kind: answerStored, conn: session.ConnID(a.Origin.Conn), at: sh.core.now(), store: a})
}

// Authenticated takes the outcome of a token check from the pool.
func (sh *Shard) Authenticated(a auth.Answer) {
	sh.mail.post(answer{kind: answerAuth, conn: session.ConnID(a.Conn), any: &a})
}

// ReadDone takes the outcome of a read from the reader pool.
func (sh *Shard) ReadDone(a delivery.ReadAnswer) {
	sh.mail.post(answer{kind: answerRead, conn: session.ConnID(a.Conn), any: &a})
}

// answer treats one unit of the first lane. A panic in it ends only the connection it is for.
func (sh *Shard) answer(a *answer) {
	s := sh.slab.Get(a.conn)
	defer func() {
		if v := recover(); v != nil {
			sh.panicked(s, v)
		}
	}()
	switch a.kind {
	case answerClaim:
		sh.contest(a.conn, a.any.(*claim))
		return
	case answerStop:
		sh.stop()
		return
	case answerCall:
		a.any.(func())()
		return
	}
	if read, ok := a.any.(*delivery.ReadAnswer); ok {
		defer read.Recycle()
	}
	if s == nil || s.State >= session.Closing {
		return
	}
	switch a.kind {
	case answerStored:
		sh.stored(s, &a.store, a.at)
	case answerAuth:
		sh.checked(s, a.any.(*auth.Answer))
	case answerRead:
		sh.read(s, a.any.(*delivery.ReadAnswer))
	case answerPresence:
		sh.presenceFound(s, a.any.(*presenceAnswer))
	case answerLost:
		sh.loseElsewhere(s, a.any.(session.Verdict))
	}
}

func (sh *Shard) checked(s *session.Session, a *auth.Answer) {
	if s.State == session.Active {
		sh.reauthenticated(s, a)
		return
	}
	sh.authenticated(s, a)
}

func (sh *Shard) read(s *session.Session, a *delivery.ReadAnswer) {
	switch a.Kind {
	case delivery.ReadStart:
		sh.startRead(s, a)
	case delivery.ReadInbox:
		sh.inboxRead(s, a)
	case delivery.ReadHistory:
		sh.pulled(s, a)
	}
}
