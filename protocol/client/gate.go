package client

import "lifeline/protocol"

// verdict is what the gate says of an entry.
type verdict uint8

const (
	admit  verdict = iota // it is the next one
	repeat                // it came before
	hole                  // entries are missing before it: the connection is not to be trusted
)

// gate lets entries pass in the order of their Pos, each once and without holes [P-6.5]. It outlives connections, for
// what it has let pass is on its way to the app.
type gate struct {
	received uint64 // last Pos that has passed
}

// check judges an entry and, when it is the next one, passes it.
func (g *gate) check(e *protocol.Entry) verdict {
	last := lastPos(e)
	switch {
	case last <= g.received:
		return repeat
	case e.Pos > g.received+1:
		return hole
	}
	g.received = last
	return admit
}

// lastPos is the last position that an entry stands for: of a void, the end of its run [P-6.13].
func lastPos(e *protocol.Entry) uint64 {
	if e.Kind == protocol.EntryVoid {
		return e.Void.To
	}
	return e.Pos
}
