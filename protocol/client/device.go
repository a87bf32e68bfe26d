package client

import (
	"time"

	"lifeline/protocol"
)

// suspendedMost is how long an iOS app may have been suspended for its connection to be trusted.
const suspendedMost = 30 * time.Second

// setActivity takes what the app says of itself, and tells the server [P-6.28].
func (l *loop) setActivity(now time.Time, a protocol.Activity) {
	before := l.activity
	l.activity = a
	slept := time.Duration(0)
	if !l.suspended.IsZero() {
		slept = max(now.Sub(l.suspended), now.Round(0).Sub(l.suspended.Round(0))) // one of the clocks may have slept too
	}
	l.suspended = time.Time{}
	if a == protocol.Suspending {
		l.suspended = now
	}
	switch {
	case a == before:
	case l.session != nil && l.c.o.Platform == protocol.IOS && slept > suspendedMost:
		l.abandon(now, SceneForeground, errSuspended)
	case l.session != nil:
		l.sendState(now)
	case a == protocol.Foreground:
		l.hurry(now, SceneForeground)
	}
}

func (l *loop) sendState(now time.Time) {
	l.asking(now)
	l.send(now, &protocol.State{Activity: l.activity})
	l.session.heartbeat.ask(now)
}

// networkChanged leaves a connection that belongs to another network, and tries at once.
func (l *loop) networkChanged(now time.Time, n protocol.Network) {
	l.network, l.lost = n, false
	l.joined(now)
	if l.session != nil {
		l.abandon(now, SceneNetwork, errNetwork)
		return
	}
	if a := l.attempt; a != nil {
		a.cancel()
		l.attempt = nil
		l.move(now, 0, SceneNetwork, errNetwork)
		l.plan.renew = a.renew // nobody knows whether the new token came in time
		return
	}
	l.hurry(now, SceneNetwork)
}

func (l *loop) networkLost(time.Time) {
	l.lost = true
	l.prober.Frame() // a trial would tell of the lost coverage
	if l.session == nil && l.attempt == nil && l.leaving == nil && !l.ended {
		l.report(Status{State: Waiting, Cause: l.cause})
	}
}

// abandon leaves the connection for a new one.
func (l *loop) abandon(now time.Time, scene Scene, why error) {
	s := l.session
	s.connection.close()
	l.session = nil
	l.move(now, now.Sub(s.since), scene, why)
}

// move plans the try that replaces what was given up.
func (l *loop) move(now time.Time, lasted time.Duration, scene Scene, why error) {
	l.cause = why
	if l.leaving != nil || l.ended {
		return
	}
	l.begin(now, scene)
	l.plan = l.backoff.moved(now, lasted)
	l.report(Status{State: Waiting, Next: l.nextTry(), Cause: why})
}

// hurry brings the next try forward.
func (l *loop) hurry(now time.Time, scene Scene) {
	if l.leaving != nil || l.ended || l.attempt != nil {
		return
	}
	l.begin(now, scene)
	l.plan = l.backoff.hurry(now, l.plan)
	l.report(Status{State: Waiting, Next: l.nextTry(), Cause: l.cause})
}
