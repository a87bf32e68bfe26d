package session

import "lifeline/server/liveness"

// A client in background may send pingBurst Pings without other frames, and one more for every pingEvery seconds.
const (
	pingBurst = 20
	pingEvery = 300 / pingBurst
)

// TakePing counts a Ping in background and reports whether it is within what is allowed: the generic cell rate
// algorithm (ITU-T I.371) in two bytes, seconds modulo 2^16.
func (s *Session) TakePing(now liveness.Time) bool {
	at := uint16(now / 10)
	ahead := int16(s.Pings - at)
	if ahead < 0 {
		ahead = 0
	}
	if ahead > (pingBurst-1)*pingEvery {
		return false
	}
	s.Pings = at + uint16(ahead) + pingEvery
	return true
}

// ForgivePings begins anew: another frame came.
func (s *Session) ForgivePings(now liveness.Time) { s.Pings = uint16(now / 10) }
