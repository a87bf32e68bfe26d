// Package route knows who is online where: the decision itself, the online table behind one interface with an
// implementation in memory, and the Registrar, which keeps the table in step with a node's sessions.
//
// The table is a hint with a time to live, never a truth: nothing that must not be lost depends on it. The package knows
// no frames, no event loops and no Redis, and nothing in it may be called where waiting is forbidden, except where a
// method says so.
package route
