//go:build !race

package main

// killRounds is how often TestKillUnderLoad kills the server.
const killRounds = 50

// stallConnections is how many connections live through TestAStoppedServerClosesNobody.
const stallConnections = 15_000
