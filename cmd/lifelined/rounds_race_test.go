//go:build race

package main

// killRounds is smaller under the race detector, which makes every start slow.
const killRounds = 5

// stallConnections is how many connections live through TestAStoppedServerClosesNobody.
const stallConnections = 2000
