package route

import "time"

// Session is one authenticated session of this node, as its loop hands it over. Strings are copies. Started and Seen
// are readings of one clock, of which only differences are used; it must go on while the process is paused, or an old
// session would seem newer than one that came meanwhile.
type Session struct {
	User, Device string
	ConnID       uint64
	Instance     uint64 // one process of the client
	Attempt      uint64 // rising within the instance
	Order        uint64 // rising within the node, one for each Connect
	Platform     uint8  // 0 = not said
	Suspect      bool
	Started      time.Time // when the Connect was complete
	Seen         time.Time // last inbound bytes
}

// Record is one device of one user as the table has it. Its times are the table's, so that clocks of nodes play no part.
type Record struct {
	User, Device string
	ConnID       uint64
	Node         string
	Incarnation  uint64
	Instance     uint64
	Attempt      uint64
	Order        uint64
	Platform     uint8
	Suspect      bool
	Closed       bool // the asker knows that this connection has ended; the table never says so
	Since        time.Time
	LastSeen     time.Time
	Expiry       time.Time
}

// Key names one record of one connection. Whatever removes a record compares all of it.
type Key struct {
	User, Device string
	ConnID       uint64
	Node         string
	Incarnation  uint64
}

// Key returns the record's name.
func (r *Record) Key() Key { return Key{r.User, r.Device, r.ConnID, r.Node, r.Incarnation} }

// Verdict is how a session loses its place to another.
type Verdict uint8

const (
	Superseded Verdict = 1 // to a newer socket of the same process
	Displaced  Verdict = 2 // to another process
)

// beats reports whether r, which wants the place of old, is the newer of the two, and how the loser ends. Both are
// sessions of one user, for one device or two devices of which one may be connected. Of two different records exactly
// one is newer, except across incarnations of one node: there the one that is being written is, for the other's process
// is dead.
func (r *Record) beats(old *Record) (bool, Verdict) {
	verdict := Displaced
	if r.Instance == old.Instance && r.Device == old.Device {
		verdict = Superseded
	}
	switch {
	case r.Node == old.Node && r.Incarnation != old.Incarnation:
		return true, verdict
	case verdict == Superseded && r.Attempt != old.Attempt:
		return r.Attempt > old.Attempt, verdict
	case r.Node == old.Node:
		return r.Order > old.Order, verdict
	case !r.Since.Equal(old.Since):
		return r.Since.After(old.Since), verdict
	default:
		return r.Node > old.Node, verdict
	}
}
