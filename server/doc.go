// Package server is a node: shards on event loops, the core that they share, and the one file that joins them to gnet.
//
// It decides little itself. What a session may do is in package session, what a device is sent is in package delivery,
// what is true is in the store, and what an operator may set is in package config.
package server
