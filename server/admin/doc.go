// Package admin serves what operators and their machines read over HTTP: metrics, health, profiles.
//
// It changes nothing in the node, authenticates nobody, and carries no messages.
package admin
