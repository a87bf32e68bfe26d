package client

import (
	"time"

	"lifeline/protocol"
)

// The rules of reconnecting [P-5.5].
const (
	firstForeground = 2 * time.Second // first try after an unexplained drop: U(0, this)
	firstBackground = 15 * time.Second
	capForeground   = 30 * time.Second // full jitter: U(0, min(cap, base·2^n))
	capBackground   = 300 * time.Second
	jitterBase      = time.Second
	hintMost        = 10 * time.Minute // of a server's hint
	hurryEvery      = 5 * time.Second  // tries at once, because the network or the app woke up
	proven          = time.Minute      // a session this long clears the count of failures

	// At most 30 tries in any hour: ten at once, and one every three minutes.
	tryBurst = 10
	tryEvery = 3 * time.Minute
)

// ending is how a try or a session ended.
type ending struct {
	status protocol.Status // of the server's Close; code 0: it said nothing
	lasted time.Duration   // since Connack
	online bool            // there was a Connack
}

// plan is what follows an ending.
type plan struct {
	at     time.Time // not before
	hinted bool      // the server asked to wait, so nothing shortens it
	stop   bool      // not before the user acts
	renew  bool      // the token is to be refreshed first
}

// backoff decides when to try again. It is a value with no clock of its own: now is always an argument.
type backoff struct {
	random func() float64 // [0, 1)

	failures int       // endings since a session of a minute
	paced    time.Time // the tries made are paid for until then
	hurried  time.Time // last try at once
}

// ended plans the next try.
func (b *backoff) ended(now time.Time, e ending, background bool) plan {
	if e.online && e.lasted >= proven {
		b.failures = 0
	}
	p := b.wait(now, e, background)
	b.failures++
	p.at = b.affordable(p.at)
	return p
}

// wait obeys the class and never looks at the code [P-5.1]. A refused request is, here, the Connect [P-5.3].
func (b *backoff) wait(now time.Time, e ending, background bool) plan {
	switch e.status.Retry {
	case protocol.RetryStop, protocol.RetryFixRequest:
		return plan{stop: true}
	case protocol.RetryNow:
		if b.failures == 0 {
			return plan{at: now}
		}
	case protocol.RetryRefreshToken:
		if b.failures == 0 {
			return plan{at: now, renew: true}
		}
		return plan{at: now.Add(b.jitter(background)), renew: true}
	case protocol.RetryAfter:
		if wait, ok := hint(&e.status, b.random()); ok {
			return plan{at: now.Add(wait), hinted: true}
		}
	}
	if e.online && b.failures == 0 {
		return plan{at: now.Add(b.uniform(first(background)))}
	}
	return plan{at: now.Add(b.jitter(background))}
}

// hint is the wait that the server asks for; ok is false when it asks for none.
func hint(s *protocol.Status, random float64) (wait time.Duration, ok bool) {
	if s.RetryMinMs == 0 && s.RetryWindowMs == 0 {
		return 0, false
	}
	wait = time.Duration(s.RetryMinMs)*time.Millisecond + time.Duration(random*float64(s.RetryWindowMs)*float64(time.Millisecond))
	return min(wait, hintMost), true
}

// moved plans the next try behind a connection or a try that the client itself gave up for a better one. That is nobody's
// failure.
func (b *backoff) moved(now time.Time, lasted time.Duration) plan {
	if lasted >= proven {
		b.failures = 0
	}
	return b.hurry(now, plan{at: b.affordable(now.Add(hurryEvery))})
}

// hurry plans a try at once, because the network is back or the app came to the front.
func (b *backoff) hurry(now time.Time, p plan) plan {
	if p.stop || p.hinted {
		return p
	}
	at := now
	if !b.hurried.IsZero() {
		at = latest(now, b.hurried.Add(hurryEvery))
	}
	if at = b.affordable(at); p.at.Before(at) {
		return p
	}
	p.at, b.hurried = at, at
	return p
}

// tried counts a try.
func (b *backoff) tried(now time.Time) { b.paced = latest(now, b.paced).Add(tryEvery) }

// affordable is the first time from at on at which a try keeps to the hourly limit.
func (b *backoff) affordable(at time.Time) time.Time {
	return latest(at, b.paced.Add(-(tryBurst-1)*tryEvery))
}

func (b *backoff) jitter(background bool) time.Duration {
	most := capForeground
	if background {
		most = capBackground
	}
	return b.uniform(min(most, jitterBase<<min(b.failures, 16)))
}

func (b *backoff) uniform(most time.Duration) time.Duration {
	return time.Duration(b.random() * float64(most))
}

func first(background bool) time.Duration {
	if background {
		return firstBackground
	}
	return firstForeground
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
