//go:build race

package pebblestore

// Pebble keeps a stack of every table it reads when the race detector is on, which makes tables a hundred times slower.
const conformanceMemTable = 16 << 20
