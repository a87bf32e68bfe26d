// Package liveness decides when a line is late and what follows: the loop's clock, the heartbeat policy, the limit of
// silence, and two machines for each session. The path (NextPath) is moved by silence and restored by any frame. The app
// (NextApp) is judged by the acknowledgements it makes. They are kept apart, because a phone without coverage and an app
// that hangs need different answers.
//
// It is pure. It reads no clock, starts no goroutine, knows no frames and no connections; what must be remembered is in
// the caller's hands, packed into a [Line] of ten bytes.
package liveness
