//go:build race

package pebblestore

// Pebble keeps a stack of every table it reads when the race detector is on, which makes tables a hundred times slower.
const (
	conformanceMemTable = 16 << 20
	conformanceRounds   = 2 // of random things; one may delete client ids, the other may set the clock back
	crashPoints         = 400
)
