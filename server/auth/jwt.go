package auth

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"lifeline/protocol"
)

const (
	leeway = 30 * time.Second

	// No token outlives the last date that a calendar with four-digit years can write.
	maxExpiry = 253402300799
)

// JWT checks signed tokens. The audience and an expiry are required; the key is chosen by kid, and the algorithm is the
// key's, never the token's.
type JWT struct {
	// Set at construction.
	audience   string
	keys       map[string]Key
	algorithms []string
}

var _ Verifier = (*JWT)(nil)

type claims struct {
	jwt.RegisteredClaims
	Device string `json:"ll_device"`
	Rate   uint32 `json:"ll_rate"`
}

// NewJWT returns a verifier of tokens for audience, signed by one of keys.
func NewJWT(audience string, keys []Key) (*JWT, error) {
	if audience == "" {
		return nil, errors.New("jwt: no audience")
	}
	if len(keys) == 0 {
		return nil, errors.New("jwt: no keys")
	}
	v := &JWT{audience: audience, keys: make(map[string]Key, len(keys))}
	for _, k := range keys {
		if k.material == nil {
			return nil, fmt.Errorf("jwt: key %q was not loaded", k.ID)
		}
		if _, ok := v.keys[k.ID]; ok {
			return nil, fmt.Errorf("jwt: two keys with kid %q", k.ID)
		}
		v.keys[k.ID] = k
		if !slices.Contains(v.algorithms, k.Algorithm) {
			v.algorithms = append(v.algorithms, k.Algorithm)
		}
	}
	return v, nil
}

// Verify implements [Verifier].
func (v *JWT) Verify(token []byte, now time.Time) (Identity, error) {
	if len(token) > MaxTokenBytes {
		return Identity{}, fmt.Errorf("%w: longer than %d bytes", BadToken, MaxTokenBytes)
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods(v.algorithms),
		jwt.WithAudience(v.audience),
		jwt.WithExpirationRequired(),
		jwt.WithLeeway(leeway),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(func() time.Time { return now }),
	)
	var c claims
	if _, err := parser.ParseWithClaims(string(token), &c, v.key); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", refusal(err), err)
	}
	return c.identity()
}

// key finds the verification key. Invariant: the algorithm a token names is compared with the key's before the key is
// handed out, so that a public key is never used as a shared secret.
func (v *JWT) key(token *jwt.Token) (any, error) {
	if _, ok := token.Header["crit"]; ok {
		return nil, errors.New("critical header not understood")
	}
	kid, ok := token.Header["kid"].(string)
	if !ok {
		return nil, errors.New("no kid")
	}
	k, ok := v.keys[kid]
	if !ok {
		return nil, errors.New("unknown kid")
	}
	if token.Method.Alg() != k.Algorithm {
		return nil, errors.New("algorithm is not the key's")
	}
	return k.material, nil
}

// refusal sorts the library's errors. Expired is said only of a token that has no other fault: its holder once had it
// from us, and a refresh helps.
func refusal(err error) Refusal {
	others := []error{jwt.ErrTokenInvalidAudience, jwt.ErrTokenRequiredClaimMissing, jwt.ErrTokenNotValidYet}
	if !errors.Is(err, jwt.ErrTokenExpired) {
		return BadToken
	}
	for _, other := range others {
		if errors.Is(err, other) {
			return BadToken
		}
	}
	return Expired
}

func (c *claims) identity() (Identity, error) {
	if !protocol.ValidID([]byte(c.Subject)) {
		return Identity{}, fmt.Errorf("%w: sub is no valid user id", BadToken)
	}
	if c.Device != "" && !protocol.ValidID([]byte(c.Device)) {
		return Identity{}, fmt.Errorf("%w: ll_device is no valid device id", BadToken)
	}
	if c.ExpiresAt.Unix() > maxExpiry {
		return Identity{}, fmt.Errorf("%w: exp is out of range", BadToken)
	}
	return Identity{User: c.Subject, Device: c.Device, Expiry: c.ExpiresAt.Time, Rate: c.Rate}, nil
}
