package session

import "lifeline/server/liveness"

// A client in background may send pingBurst Pings without other frames, and one more for every pingEvery seconds, or
// for half of its heartbeat where that is less [P-6.29]: it is never ended for doing what it was told. A heartbeat of
// one second has no limit.
const (
	pingBurst = 20
	pingEvery = 300 / pingBurst
)

// TakePing counts a Ping in background and reports whether it is within what is allowed: the generic cell rate
// algorithm (ITU-T I.371) in two bytes, seconds modulo 2^16.
func (s *Session) TakePing(now liveness.Time) bool {
	at, every := uint16(now/10), min(pingEvery, int16(s.Interval/2))
	ahead := max(int16(s.Pings-at), 0)
	if ahead > (pingBurst-1)*every {
		return false
	}
	s.Pings = at + uint16(ahead+every)
	return true
}

// ForgivePings begins anew: another frame came.
func (s *Session) ForgivePings(now liveness.Time) { s.Pings = uint16(now / 10) }
