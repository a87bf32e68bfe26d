// Package protocol is the wire: framing, the frames and their bodies, codes, the text form.
//
// It does no I/O, keeps no state between frames, knows no sessions and no store. docs/protocol.md is its specification;
// comments and tests cite its requirements as [P-x.y].
package protocol
