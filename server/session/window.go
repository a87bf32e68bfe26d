package session

// Step is what the pump does next for a session.
type Step uint8

const (
	Rest  Step = iota // nothing can go out now
	Write             // the item in hand is the next position: write it
	Read              // read the store from Sent+1
)

// Outbound limits in bytes of one connection: above the first nothing more is pushed and no request is answered, above
// the second the connection is closed.
const (
	OutboundHigh = 64 << 10
	OutboundMax  = 512 << 10
)

// Next decides what the pump does: item is the position in hand (0 = none), outbound the bytes not yet taken by the
// socket, window the largest Sent-Acked [P-6.12]. Room is how many entries a Read may bring. What is written is always the
// next position [P-6.5].
func (s *Session) Next(item uint64, outbound, window int) (step Step, room int) {
	room = window - int(s.Sent-s.Acked)
	switch {
	case s.Has(Reading), room <= 0, outbound > OutboundHigh, s.Sent >= s.Head:
		return Rest, 0
	case item == s.Sent+1:
		return Write, room
	default:
		return Read, room
	}
}
