package client

import (
	"errors"
	"fmt"

	"lifeline/protocol"
)

// Faults of the caller, and what becomes of messages.
var (
	ErrExpired    = errors.New("the message waited for 6 days and was given up")
	ErrOutboxFull = errors.New("the outbox is full: wait until messages are sent")
	ErrRunning    = errors.New("the client runs already")
	ErrStopped    = errors.New("the client has stopped")
	// ErrNoToken is what Token returns when there is none until the user logs in again. It ends Run.
	ErrNoToken = errors.New("no other token is at hand")

	errLongConnect = errors.New("the token or the app's version is too long: Connect may have 4096 bytes")
	errRecipient   = errors.New("a message needs a user or a group to go to, and not both")
	errRecipientID = errors.New("the recipient's id is not valid: 1 to 64 bytes of UTF-8 without control characters")
	errUserID      = errors.New("the id is not valid: 1 to 64 bytes of UTF-8 without control characters")
	errUsers       = errors.New("presence is asked of 1 to 200 users")
	errClientID    = errors.New("the client id is longer than 64 bytes")
	errPayload     = errors.New("the payload is longer than any server takes (60 KiB)")
)

// Faults of the line. Each ends a connection, never the client.
var (
	errSilent    = errors.New("the server did not answer a ping")
	errHole      = errors.New("the server left out positions")
	errOverrun   = errors.New("the server sends more than its window")
	errFirst     = errors.New("the server's first frame was neither Connack nor Close")
	errDirection = errors.New("the server sent a frame that only clients send")
	errNetwork   = errors.New("the network changed")
	errSuspended = errors.New("the app was suspended for long")
)

// because joins an error with what led to it, in one line.
func because(err, cause error) error {
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w (%w)", cause, err)
}

// RefusedError is the server's refusal of a request or of the session, with what to do about it.
type RefusedError struct{ Status protocol.Status }

func (e *RefusedError) Error() string {
	if len(e.Status.Detail) == 0 {
		return fmt.Sprintf("the server says %v", e.Status.Code)
	}
	return fmt.Sprintf("the server says %v: %s", e.Status.Code, e.Status.Detail)
}
