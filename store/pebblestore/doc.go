// Package pebblestore is the durable store: package commit over a Pebble database in a directory, with what belongs to a
// directory and a disk: the lock, the boot number, the floor of free space, metrics, and the tools for a store that is
// not running.
//
// It decides nothing about messages. It is the only package that imports Pebble.
package pebblestore
