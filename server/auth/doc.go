// Package auth decides who a token speaks for: development tokens, signed JWTs, and the bounded pool that checks them
// away from the event loops.
//
// It knows no frames, no connections and no configuration files, and it keeps no state about users.
package auth
