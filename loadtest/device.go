package loadtest

import "lifeline/protocol"

// deviceState says where a device is on its way.
type deviceState uint8

const (
	deviceNew        deviceState = iota // no connection yet
	deviceConnecting                    // Connect was sent
	deviceActive                        // Connack came
	deviceLeaving                       // Bye was sent
	deviceEnded                         // its connection is gone, or about to be
)

// conn is a device's connection. Write and Close are called on the device's loop. What is written is copied or gone when
// Write returns; Close may take effect later.
type conn interface {
	Write(b []byte) (int, error)
	Close() error
}

// role is what a device does besides being there. It is called on the device's loop, and appends to l.out what the device
// answers at once.
type role interface {
	sendack(l *loop, f *protocol.Sendack)
	push(l *loop, d *device, entries []protocol.Entry)
	// open and close tell that d has a session, and that it has none any more.
	open(l *loop, d *device)
	close(l *loop, d *device)
}

// device is one device of one user and its connection. It is small: a run may have a hundred thousand. Before it has a
// connection it belongs to the dialler, then to its loop.
type device struct {
	// Set at construction.
	role  role   // nil: only there
	index uint32 // names the user
	place uint8  // its place within its role

	// Owned by the dialler, then by the loop.
	state    deviceState
	enrolled bool   // it has been on the loop
	interval uint16 // of the heartbeat, seconds
	dialled  int64  // when its dial was due
	conn     conn
	part     []byte // the beginning of a frame that has not come whole
	beat     heartbeat
	acks     acks
}
