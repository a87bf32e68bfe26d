package client

import (
	"time"

	"lifeline/protocol"
)

const leaveWithin = 3 * time.Second

// leaving is how far a goodbye has got. Owned by the loop.
type leaving struct {
	reason   protocol.ByeReason
	deadline time.Time
	handled  bool // the receiver has stopped, and what it handled is acknowledged
}

// leave begins the goodbye: first the app finishes the message in hand.
func (l *loop) leave(now time.Time, reason protocol.ByeReason) {
	if l.leaving != nil || l.ended {
		return
	}
	l.leaving = &leaving{reason: reason, deadline: now.Add(leaveWithin)}
	if l.attempt != nil {
		l.attempt.cancel()
		l.attempt = nil
	}
	l.report(Status{State: Leaving})
	l.receiver.stop()
	l.helpers.Go(func() {
		<-l.receiver.ended
		l.c.post(func(l *loop) { l.handled(time.Now()) })
	})
}

// handled sends the last Ack and Bye.
func (l *loop) handled(now time.Time) {
	l.leaving.handled = true
	if l.session == nil {
		return
	}
	if pos, ok := l.session.acks.take(now, true); ok {
		l.send(now, &protocol.Ack{Pos: pos, HasPos: true})
	}
	l.send(now, &protocol.Bye{Reason: l.leaving.reason})
}

// goOnLeaving ends the loop when there is nothing to wait for. The server's Close is the proof that it read Bye, and the
// acknowledgement before it [P-6.31].
func (l *loop) goOnLeaving(now time.Time) {
	if l.leaving.handled && l.session == nil || !now.Before(l.leaving.deadline) {
		l.ended = true
		if l.leaving.reason == protocol.ByeLogout && l.previous != protocol.CodeLoggedOut {
			l.fail(errUntold)
		}
	}
}
