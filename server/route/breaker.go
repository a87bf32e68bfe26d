package route

import "time"

// State is how far a node trusts the table.
type State uint8

const (
	Healthy    State = iota // every write went through, and the table has all of this node's sessions
	Suspect                 // a call has failed: only the probe is tried, soon
	Degraded                // calls keep failing: only the probe is tried, now and then, and nobody waits for the table
	Recovering              // the table answers, but may lack sessions: reconcile is under way
)

var states = [...]string{"healthy", "suspect", "degraded", "recovering"}

func (s State) String() string { return states[s] }

// Event is what a node learns about the table.
type Event uint8

const (
	Probed     Event = iota // a probe, which writes, went through
	Errored                 // a call failed
	Doubted                 // nothing failed, but the table may lack sessions: a new connection, a lost lease or generation, a lost event
	Reconciled              // every session is in the table, and no doubt came up meanwhile
)

var events = [...]string{"probed", "errored", "doubted", "reconciled"}

func (e Event) String() string { return events[e] }

const (
	suspectProbes = 3 // failures, the first included, until the table is given up
	suspectPause  = 200 * time.Millisecond
	suspectAtMost = 2 * time.Second
	degradedPause = time.Second
)

// Breaker decides from what happened whether the table is used. It is a value; [Breaker.Next] is its only rule.
type Breaker struct {
	State    State
	Failures int       // in a row
	Since    time.Time // of the state
	Probe    time.Time // when the next probe is due, while the table is not usable
}

// NewBreaker returns the breaker of a node that has not asked the table yet: whatever is there is to be reconciled.
func NewBreaker(now time.Time) Breaker { return Breaker{State: Recovering, Since: now, Probe: now} }

// Trusted reports whether what the table lacks is not there.
func (b Breaker) Trusted() bool { return b.State == Healthy }

// Usable reports whether anything but the probe is tried.
func (b Breaker) Usable() bool { return b.State == Healthy || b.State == Recovering }

// Next returns the breaker after an event.
func (b Breaker) Next(e Event, now time.Time) Breaker {
	switch e {
	case Errored:
		b.Failures++
		switch {
		case b.State == Healthy:
			return b.enter(Suspect, now, suspectPause)
		case b.State == Suspect && b.Failures < suspectProbes && now.Sub(b.Since) < suspectAtMost:
			b.Probe = now.Add(suspectPause)
			return b
		case b.State == Degraded:
			b.Probe = now.Add(degradedPause)
			return b
		default:
			return b.enter(Degraded, now, degradedPause)
		}
	case Probed:
		b.Failures = 0
		if b.State == Suspect || b.State == Degraded {
			return b.enter(Recovering, now, 0)
		}
	case Doubted:
		if b.State == Healthy {
			return b.enter(Recovering, now, 0)
		}
	case Reconciled:
		if b.State == Recovering {
			return b.enter(Healthy, now, 0)
		}
	}
	return b
}

func (b Breaker) enter(s State, now time.Time, pause time.Duration) Breaker {
	b.State, b.Since, b.Probe = s, now, now.Add(pause)
	return b
}
