// Package memstore is the model of a store: maps, slices and one mutex, written to be read beside docs/store.md.
// Other stores are judged by it, so it shares no code with them.
//
// It is not durable, forgets nothing by itself and is not made to be fast.
package memstore
