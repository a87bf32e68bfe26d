package client

import (
	"time"

	"lifeline/protocol"
)

// The rules of refreshing a token while the session lives.
const (
	renewBefore = 5 * time.Minute  // its end, or a fifth of its life if that is shorter
	renewAgain  = 30 * time.Second // after a failure
)

// renewal decides when a fresh token is fetched and sent [P-6.30]. It is a value with no clock of its own; the server's
// clock counts, for the device's may be wrong by hours.
type renewal struct {
	random func() float64

	at     time.Time // when to fetch; zero: never
	asking bool      // the callback runs
	id     uint64    // of the unanswered Reauth; 0: none
}

// expires plans the refresh of a token that ends life after now. Half of the margin is drawn at random, so that tokens
// issued together are not refreshed together.
func (r *renewal) expires(now time.Time, life time.Duration) {
	margin := max(0, min(renewBefore, life/5))
	r.at = now.Add(life - margin/2 - time.Duration(r.random()*float64(margin/2)))
}

// due is when fetch becomes true; zero: never.
func (r *renewal) due() time.Time {
	if r.asking || r.id != 0 {
		return time.Time{}
	}
	return r.at
}

// fetch tells whether to call the callback now; it is then running until fetched.
func (r *renewal) fetch(now time.Time) bool {
	if at := r.due(); at.IsZero() || now.Before(at) {
		return false
	}
	r.asking = true
	return true
}

// fetched ends the callback. Without a token it is tried again a little later.
func (r *renewal) fetched(now time.Time, ok bool) {
	r.asking = false
	if !ok {
		r.again(now)
	}
}

func (r *renewal) again(now time.Time) { r.at = now.Add(renewAgain) }

// answered takes the answer to a Reauth: the new token's end in the server's time, 0 for none.
func (r *renewal) answered(now time.Time, f *protocol.Result, serverNow time.Time) {
	if f.ID != r.id || r.id == 0 {
		return
	}
	r.id = 0
	switch {
	case f.Status.Failed():
		r.again(now)
	case f.TokenExpiryMs == 0:
		r.at = time.Time{}
	default:
		r.expires(now, unixMilli(f.TokenExpiryMs).Sub(serverNow))
	}
}
