package auth

import (
	"errors"
	"time"
)

// MaxTokenBytes is the longest token that is looked at. What is longer is refused unread.
const MaxTokenBytes = 2 << 10

// Verifier checks tokens. Implementations are safe for concurrent use, may take a millisecond of CPU, and keep no
// reference to the token. An error always is, or wraps, a [Refusal].
type Verifier interface {
	Verify(token []byte, now time.Time) (Identity, error)
}

// Identity is what a good token says.
type Identity struct {
	User        string
	Device      string    // the only device the token is good for, empty = any
	Expiry      time.Time // zero = never
	Development bool      // free of rate limits
	Rate        uint32    // Sends per second, 0 = the server's default
}

// Allows returns DeviceMismatch when the token is bound to another device.
func (i Identity) Allows(device string) error {
	if i.Device != "" && i.Device != device {
		return DeviceMismatch
	}
	return nil
}

// Refusal says why a token was not accepted; it is an error. The zero value means that it was accepted.
type Refusal uint8

const (
	None           Refusal = iota
	BadToken               // malformed, forged, for another audience, not valid yet: the same answer for all
	Expired                // was good once: refresh it
	DeviceMismatch         // good, but bound to another device
	Internal               // the check itself failed; says nothing about the token
)

var refusals = [...]string{
	None: "none", BadToken: "bad token", Expired: "token expired", DeviceMismatch: "token bound to another device",
	Internal: "token check failed",
}

func (r Refusal) Error() string {
	if int(r) < len(refusals) {
		return refusals[r]
	}
	return "unknown"
}

// Refusals lists every refusal, for tables that must be exhaustive.
func Refusals() []Refusal {
	all := make([]Refusal, len(refusals))
	for i := range all {
		all[i] = Refusal(i)
	}
	return all
}

// RefusalOf returns the refusal that err is or wraps: None for nil, Internal for an error that is not a refusal.
func RefusalOf(err error) Refusal {
	if err == nil {
		return None
	}
	var r Refusal
	if errors.As(err, &r) && r != None {
		return r
	}
	return Internal
}
