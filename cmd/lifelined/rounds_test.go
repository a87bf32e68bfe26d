//go:build !race

package main

// killRounds is how often TestKillUnderLoad kills the server.
const killRounds = 50
