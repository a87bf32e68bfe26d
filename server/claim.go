package server

import (
	"math/bits"

	"lifeline/protocol"
	"lifeline/server/session"
)

// Two sessions of one user and device (or platform; see rivals) may overlap for a moment, on one loop or on two; a
// claim ends that [P-6.3]. The session that starts later (in the directory's order) sees the other's loop and asks
// there; whichever claim wins, the loop that owns the loser closes it.

// contest lets a claim meet this loop's sessions of the same user and device, but not the claimant itself. Losers here
// are closed; lost reports that the claimant, if it lives here, was closed.
func (sh *Shard) contest(claimant session.ConnID, c *claim) (lost bool) {
	for s := sh.users.First(c.hash); s != nil; {
		next := sh.users.Next(s)
		if s.ID != claimant && sh.rivals(c, s) {
			if wins, verdict := sh.judge(c, s); wins {
				if claimant.Loop() == sh.index { // before the loser's record goes, or the table would have neither
					sh.register(sh.slab.Get(claimant))
				}
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

// rivals reports whether the claimant and the session may not both stay: they are one device, or one platform of a user
// where the configuration says that each has one session.
func (sh *Shard) rivals(c *claim, s *session.Session) bool {
	if !sh.users.Is(s, c.user) {
		return false
	}
	samePlatform := sh.core.opts.ExclusivePlatform && c.platform != 0 && c.platform == s.Platform
	return samePlatform || string(sh.users.Device(s)) == c.device
}

// judge decides between a claim and a session's. Who displaces another must not have been displaced before: then it is
// about to be closed itself, and the other stays.
func (sh *Shard) judge(c *claim, s *session.Session) (wins bool, v session.Verdict) {
	other, device := s.Claim(), string(sh.users.Device(s))
	wins, v = c.claim.Beats(other)
	if device != c.device {
		wins, v = c.claim.Order > other.Order, session.Displaced
	}
	if v == session.Superseded {
		return wins, v
	}
	mine := displacedKey{c.user, c.device, c.claim.Instance}
	theirs := displacedKey{c.user, device, other.Instance}
	if wins {
		return sh.core.displaced.displace(mine, theirs, sh.core.now()), v
	}
	return !sh.core.displaced.displace(theirs, mine, sh.core.now()), v
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

// loseElsewhere closes a session that has lost to one of another loop or node. Of a process that another node displaced,
// nobody here has noted it.
func (sh *Shard) loseElsewhere(s *session.Session, v session.Verdict) {
	if v == session.Displaced {
		k := displacedKey{string(sh.users.User(s)), string(sh.users.Device(s)), s.Instance}
		sh.core.displaced.remember(k, sh.core.now())
	}
	sh.lose(s, v)
}

// lose closes a session that has lost a claim.
func (sh *Shard) lose(s *session.Session, v session.Verdict) {
	code := protocol.CodeSuperseded
	if v == session.Displaced {
		code = protocol.CodeDisplaced
	}
	sh.refuseConn(s, code)
}
