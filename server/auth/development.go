package auth

import (
	"bytes"
	"fmt"
	"time"

	"lifeline/protocol"
)

// DevelopmentPrefix begins every development token; the user's id follows.
const DevelopmentPrefix = "dev:"

// Development accepts `dev:<user>` for every valid user id, without any proof. It is for loopback listeners only, which
// the configuration enforces.
type Development struct{}

var _ Verifier = Development{}

// Verify implements [Verifier]. A development token never expires.
func (Development) Verify(token []byte, _ time.Time) (Identity, error) {
	user, ok := bytes.CutPrefix(token, []byte(DevelopmentPrefix))
	if !ok {
		return Identity{}, fmt.Errorf("%w: not a development token", BadToken)
	}
	if !protocol.ValidID(user) {
		return Identity{}, fmt.Errorf("%w: invalid user id", BadToken)
	}
	return Identity{User: string(user), Development: true}, nil
}
