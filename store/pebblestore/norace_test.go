//go:build !race

package pebblestore

const (
	conformanceMemTable = 64 << 10 // so small that flushes and compactions happen
	conformanceRounds   = 0        // as many as the suite likes
	crashPoints         = 2000
)
