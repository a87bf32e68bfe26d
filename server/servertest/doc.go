// Package servertest runs a whole node without sockets, so that scripts about it can run in virtual time: event loops
// are goroutines, connections are in memory, clients speak frames. Use it inside a testing/synctest bubble.
//
// It tests nothing itself, and says nothing about the adapter to real sockets.
package servertest
