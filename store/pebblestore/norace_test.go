//go:build !race

package pebblestore

// conformanceMemTable is so small that flushes and compactions happen.
const conformanceMemTable = 64 << 10
