package server

import (
	"math/bits"

	"lifeline/protocol"
	"lifeline/server/session"
)

// Two sessions of one user and device may overlap for a moment, on one loop or on two; a claim ends that. The session
// that starts later (in the directory's order) sees the other's loop and asks there; whichever claim wins, the loop that
// owns the loser closes it.

// contest lets a claim meet this loop's sessions of the same user and device, but not the claimant itself. Losers here
// are closed; lost reports that the claimant, if it lives here, was closed.
func (sh *Shard) contest(claimant session.ConnID, c *claim) (lost bool) {
	for s := sh.users.First(c.hash); s != nil; {
		next := sh.users.Next(s)
		if s.ID != claimant && sh.users.Is(s, c.user) && string(sh.users.Device(s)) == c.device {
			if wins, verdict := c.claim.Beats(s.Claim()); wins {
				sh.lose(s, verdict)
			} else {
				sh.tellLost(claimant, verdict)
				return claimant.Loop() == sh.index
			}
		}
		s = next
	}
	return false
}

// claimElsewhere posts the claim to the other loops of the mask.
func (sh *Shard) claimElsewhere(id session.ConnID, c claim, mask uint64) {
	for mask &^= 1 << sh.index; mask != 0; mask &= mask - 1 {
		loop := bits.TrailingZeros64(mask)
		sh.core.shards[loop].mail.post(answer{kind: answerClaim, conn: id, any: &c})
	}
}

// tellLost has the claimant closed, on its own loop.
func (sh *Shard) tellLost(claimant session.ConnID, v session.Verdict) {
	if claimant.Loop() == sh.index {
		if s := sh.slab.Get(claimant); s != nil {
			sh.lose(s, v)
		}
		return
	}
	sh.core.shards[claimant.Loop()].mail.post(answer{kind: answerLost, conn: claimant, any: v})
}

// lose closes a session that has lost a claim. A displaced process is remembered, for it may never read the Close.
func (sh *Shard) lose(s *session.Session, v session.Verdict) {
	code := protocol.CodeSuperseded
	if v == session.Displaced {
		code = protocol.CodeDisplaced
		if s.Has(session.Indexed) {
			sh.core.displaced.add(displacedKey{string(sh.users.User(s)), string(sh.users.Device(s)), s.Instance}, sh.core.now())
		}
	}
	sh.refuseConn(s, code)
}
