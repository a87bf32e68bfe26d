// Package redistest starts real Redis servers for tests: one, a Cluster of three, a pair behind a Sentinel, each in a
// directory and on ports of its own, and a line to them that can be slowed down and cut.
//
// It knows no Redis client: tests of whatever uses one stand on it.
package redistest
