package session

// Claim is what a session says to others of the same user and device: there is to be only one.
type Claim struct {
	Instance uint64
	Attempt  uint64
	Order    uint64 // rising with each Connect of the node
}

// Claim returns the session's own.
func (s *Session) Claim() Claim { return Claim{s.Instance, uint64(s.Attempt), s.Order} }

// Verdict is the outcome of two claims.
type Verdict uint8

const (
	Superseded Verdict = 1 // the loser is the same process's older socket
	Displaced  Verdict = 2 // another process has taken the device over
)

// Beats reports whether c wins against other, and how the loser ends. Within one process the higher attempt wins, for
// sockets overtake each other; between processes the later Connect does [P-6.3]. Of two claims exactly one wins.
func (c Claim) Beats(other Claim) (bool, Verdict) {
	if c.Instance != other.Instance {
		return c.Order > other.Order, Displaced
	}
	if c.Attempt != other.Attempt {
		return c.Attempt > other.Attempt, Superseded
	}
	return c.Order > other.Order, Superseded
}
