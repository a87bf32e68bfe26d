// Package session holds what one event loop knows about its connections: the slab of sessions, the arena of their ids,
// the index by user, and the pure decisions about a session's state (which frame is expected, where it starts, who wins
// a claim, what may be pushed next).
//
// It does no I/O, starts no goroutine, reads no clock and knows no store and no event loop library.
package session
