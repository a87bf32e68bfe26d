//go:build race

package main

// killRounds is smaller under the race detector, which makes every start slow.
const killRounds = 5
