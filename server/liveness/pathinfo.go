package liveness

import "time"

// PathInfo is what the kernel knows of a connection. It is asked for on suspicion only, never for every session. The
// zero value says that nothing is known, as behind a proxy, whose kernel answers for the client.
type PathInfo struct {
	Known   bool
	Queued  int           // bytes that the peer's kernel has not acknowledged (SIOCOUTQ)
	Backoff int           // how often the retransmission timer doubled (tcpi_backoff)
	AckAge  time.Duration // since the peer's kernel last acknowledged anything (tcpi_last_ack_recv)
}

// Verdict is what a [PathInfo] says once a Probe is on its way.
type Verdict uint8

const (
	Undecided  Verdict = iota // nothing is known, or it is too early to tell
	PathDead                  // nothing that was sent arrives
	AppFrozen                 // the peer's kernel took the Probe, its app does not answer
	SlowReader                // the peer's kernel answers and has no room
)

const (
	freshAck    = 15 * time.Second // more than the largest step of the retransmission timer
	deadBackoff = 2
)

// Verdict reads i. A reader without room lets bytes wait and timers double too, so its acknowledgements are looked at
// first.
func (i PathInfo) Verdict() Verdict {
	switch {
	case !i.Known:
		return Undecided
	case i.Queued == 0:
		return AppFrozen
	case i.AckAge <= freshAck:
		return SlowReader
	case i.Backoff >= deadBackoff:
		return PathDead
	default:
		return Undecided
	}
}
