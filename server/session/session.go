package session

import "lifeline/server/liveness"

// State is where a connection stands. Only its loop writes it.
type State uint8

const (
	Free           State = iota // the slot holds no connection
	Opened                      // accepted; a Connect is awaited
	Authenticating              // the Connect is complete; its token is being verified
	Starting                    // installed in the index; its start position is being read
	Active                      // Connack was written
	Closing                     // Close was written; inbound is thrown away until EOF or the deadline
	Dead                        // the socket is to be closed before this callback ends
)

var states = [...]string{"free", "opened", "authenticating", "starting", "active", "closing", "dead"}

func (s State) String() string { return states[s] }

// Flag is a yes-or-no fact about a session.
type Flag uint16

const (
	Indexed     Flag = 1 << iota // in the index and the directory
	Reading                      // an inbox read is outstanding: nothing is pushed from items
	Blocked                      // a read failed or bytes piled up: the sweep tries again
	Resetting                    // pushes began at a head the client has not acknowledged yet
	CursorDirty                  // acked has moved since it was given to the store
	Shut                         // the sending side is shut down
	Unfinished                   // a frame's body is arriving in a buffer outside the session
	Traced                       // an operator watches its frames
	Routed                       // in, or on its way into, the shared online table
	Wired                        // the client says that its network is wired
	Slow                         // the client says that its network is 2G or 3G
	Pulling                      // a Pull is not answered yet
)

// Session is one Conn and, once authenticated, its Session. It holds no pointer, so that a million of them cost the
// garbage collector nothing. Every field is owned by the loop named in ID.
type Session struct {
	ID ConnID

	// Delivery: Acked <= Sent <= Head, all positions of the user's inbox.
	Acked, Sent, Head uint64

	// Identity, set when the Connect is accepted.
	Instance uint64 // one SDK process
	Order    uint64 // when the Connect was complete: nanoseconds since the node started, rising
	UserHash uint64

	// Refused is the hash of the client id of the Send that was refused last for now, 0 = none.
	Refused uint32

	ids  Ref    // user id and device id in the arena
	next uint32 // chain of the index, or of the free list: slot + 1, 0 = end

	Attempt uint32 // rising within the instance

	// Stage is the place of this connection's bytes in the loop's staging buffers + 1, 0 = none wait.
	Stage uint32

	// Times of the loop's clock.
	LastIn   liveness.Time // last inbound bytes
	Progress liveness.Time // last ack progress, or first push after Sent == Acked
	Checked  liveness.Time // last head check; while closing: the end of it
	Expiry   liveness.Time // the token ends, 0 = never

	Capabilities uint16

	// Line is what is believed of the path and the app.
	Line liveness.Line

	// Pings is the moment up to which Pings in background are paid for; see TakePing.
	Pings uint16

	// Interval is the heartbeat in seconds the silence limit follows; NextInterval, if not 0, is a smaller one that
	// applies with the next inbound frame.
	Interval, NextInterval uint16

	Flags Flag

	userLen, deviceLen uint8
	State              State
	Activity           uint8
	Platform           uint8
	Sends, Requests    uint8 // unanswered

	// Header of a frame that has not arrived whole.
	HeaderLen uint8
	Header    [4]byte
}

// Has reports whether all the flags are set.
func (s *Session) Has(f Flag) bool { return s.Flags&f == f }

// Set sets flags.
func (s *Session) Set(f Flag) { s.Flags |= f }

// Clear clears flags.
func (s *Session) Clear(f Flag) { s.Flags &^= f }

// Lag is the number of inbox positions the device has not acknowledged.
func (s *Session) Lag() uint64 { return s.Head - s.Acked }
