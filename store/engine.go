package store

import "context"

// Partitions is the number of partitions of a store, fixed at its creation and part of every key.
const Partitions = 64

// Op is one resolved change: nothing is left to decide when it is applied, so applying it anywhere gives the same result.
type Op struct {
	Key    []byte
	Value  []byte
	Delete bool
}

// PartitionOps is what one batch does to one partition. Index is the partition's applied index after it.
type PartitionOps struct {
	Partition uint16
	Index     uint64
	Ops       []Op
}

// Engine is the inner seam: what the committer asks of a database.
type Engine interface {
	// Commit applies the batch atomically and returns nil only when it is durable. After an error nothing is known
	// about it and the caller must stop serving. Called by one goroutine at a time; it keeps no slice.
	Commit(ctx context.Context, batch []PartitionOps) error

	// Get returns a copy of a value appended to dst, and whether it exists.
	Get(dst, key []byte) (value []byte, ok bool, err error)

	// Scan calls each for the keys in [from, to) in order until it returns false. Key and value are valid only
	// during the call.
	Scan(from, to []byte, each func(key, value []byte) bool) error

	Close() error
}
