package session

import "lifeline/protocol"

// Treatment is what happens to a frame.
type Treatment uint8

const (
	Handle    Treatment = iota // the handler named after the frame runs
	Hold                       // kept until Connack is written, then handled in order [P-6.1]
	Ignore                     // dropped without a word
	Refuse                     // answered by Error UNSUPPORTED; the connection stays [P-2.2]
	Violation                  // ends the connection: UNEXPECTED_FRAME [P-2.5]
)

// Expect decides what happens to a frame of type t in a state. Every pair of the two is in the test's table.
func Expect(state State, t protocol.Type) Treatment {
	switch state {
	case Authenticating, Starting:
		return Hold
	case Opened:
		if t == protocol.TypeConnect {
			return Handle
		}
		return Violation
	case Active:
		return whileActive[t]
	default:
		return Ignore
	}
}

// whileActive treats what a client may send after Connack.
var whileActive = func() (table [256]Treatment) {
	for i := range table {
		switch t := protocol.Type(i); {
		case t.Node():
			table[i] = Violation
		case t.Ignorable():
			table[i] = Ignore
		default:
			table[i] = Refuse
		}
	}
	for _, t := range protocol.Types() {
		if !t.FromClient() {
			table[t] = Violation
		}
	}
	table[protocol.TypeConnect] = Violation
	for _, t := range []protocol.Type{protocol.TypePing, protocol.TypeProbeAck, protocol.TypeState, protocol.TypeSend,
		protocol.TypeAck, protocol.TypePull, protocol.TypeReauth, protocol.TypeBye, protocol.TypePresence} {
		table[t] = Handle
	}
	return table
}()
