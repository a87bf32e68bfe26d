package client

import (
	"time"

	"lifeline/protocol"
)

// State is where a client stands.
type State uint8

const (
	Stopped    State = iota // Run is not called, or has returned
	Waiting                 // there is no connection, and Status.Next says when the next try is made
	Connecting              // a try is under way
	Online                  // the server has accepted the session
	Leaving                 // the app said goodbye, and the last acknowledgement is on its way
)

func (s State) String() string {
	return [...]string{"stopped", "waiting", "connecting", "online", "leaving"}[s]
}

// Status is a state with what is known about it.
type Status struct {
	State State
	Host  string    // Connecting and Online: where
	Next  time.Time // Waiting: when the next try is made; zero: not before the network is back
	Cause error     // Waiting and Stopped: why there is no connection, if something went wrong
	Held  error     // Online: the *RefusedError for which messages wait. They go out when the server takes them again
}

// Scene is what made the client connect.
type Scene uint8

const (
	SceneStart      Scene = iota // Run was called
	SceneNetwork                 // the network came back or changed
	SceneForeground              // the app came to the front
	SceneDrop                    // the connection broke without a word
	SceneClosed                  // the server closed it, and said why
)

func (s Scene) String() string {
	return [...]string{"start", "network", "foreground", "drop", "closed"}[s]
}

// Arrival measures one way back: from the moment the client had reason to connect until it could receive. The app
// reports it; medians by scene are what users feel.
type Arrival struct {
	Scene      Scene
	Took       time.Duration
	Tries      int
	Duplicates uint64 // messages dropped since the last arrival, because the app had them
}

// Sent is the outcome of a message.
type Sent struct {
	Message *Outgoing
	Seq     uint64 // the rest counts only without Err
	ID      MessageID
	Time    time.Time
	Err     error // nil: stored. A *RefusedError, or ErrExpired
}

// Reset is what the server says when the device's copy of the inbox is useless or absent: pushes go on behind Pos, and
// everything before it comes only by asking.
type Reset struct{ Progress }

func background(a protocol.Activity) bool {
	return a == protocol.Background || a == protocol.Suspending
}
