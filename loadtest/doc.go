// Package loadtest puts load on a Lifeline server from outside and judges what comes back: nothing lost, order kept, how
// late.
//
// It knows only what the author of a client knows, the wire, and has an event-driven client of its own: many devices on a
// few loops, no goroutine and less than 1 KB for each. It is no reference client: it does not reconnect, keeps nothing on
// disk, and does not look inside the server. A scenario (Idle, Chat) says who does what; the runner connects, waits and
// ends; the verifier judges; the report tells.
package loadtest
