package liveness

import (
	"fmt"
	"time"
)

// LongestSilence is the longest that a session may live without a word from its device, over everything the policy
// allows: silence up to the limit, the Probes, the hold.
func (p Policy) LongestSilence() time.Duration {
	return max(p.silence(p.Background.Max), p.silence(p.Foreground.Interval), p.silence(p.Desktop))
}

// silence is what an interval allows. A trial is no longer than the largest interval. The hold is that in
// background, which a foreground session has too when its kernel answers.
func (p Policy) silence(interval time.Duration) time.Duration {
	return Limit(interval) + probing + p.Hold.For(true, interval)
}

// margin is how much longer than the longest silence everything must last that a session has to outlive: each of the three
// steps to its end may wait a second for the sweep, and a session that comes back at its last moment has its route to write.
const margin = 10 * time.Second

// ValidateCoupling returns the faults of what must outlive a silent session, with a margin of 10 s. A route is refreshed
// when a third of its time has passed and must not run out before its session does. The kernel must not give a connection
// up before the session's machine does: TCP_USER_TIMEOUT.
func (p Policy) ValidateCoupling(routeTTL, userTimeout time.Duration) []error {
	var faults []error
	longest := p.LongestSilence()
	const parts = "(limit, probes and hold at their largest)"
	if left := routeTTL / 3 * 2; left < longest+margin {
		faults = append(faults, fmt.Errorf("a route may have only %v left, 2/3 of its %v, but a session may be silent for %v %s, and %v are to spare: raise the route's time to live to %v or lower background.max or hold",
			left, routeTTL, longest, parts, margin, (longest+margin)*3/2))
	}
	if userTimeout < longest+margin {
		faults = append(faults, fmt.Errorf("TCP_USER_TIMEOUT is %v, but a session may be silent for %v %s, and %v are to spare: lower background.max or hold",
			userTimeout, longest, parts, margin))
	}
	return faults
}
