// Package delivery turns what the store has committed into what event loops push: it encodes a message once, finds the
// loops of every recipient's devices, and posts one item per recipient and loop. It also reads inboxes for sessions that
// are behind, off the loops, and holds the one table between the store's words and the wire's.
//
// It decides nothing about a session (package session does), owns no connection and writes to no socket.
package delivery
