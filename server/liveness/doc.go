// Package liveness decides when a line is late: the loop's clock, the heartbeat policy, and the limit of silence.
//
// It is pure. It reads no clock, starts no goroutine, knows no frames and no connections; what must be remembered is in
// the caller's hands.
package liveness
