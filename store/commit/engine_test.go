package commit

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"lifeline/store"
)

// memEngine is an engine in memory: the simplest that keeps the contract.
type memEngine struct {
	mu      sync.RWMutex
	values  map[string][]byte
	keys    []string // sorted; nil = to be sorted
	closed  bool
	failing error // of every Commit, when set
	commits int
}

func newMemEngine() *memEngine { return &memEngine{values: map[string][]byte{}} }

var errEngineClosed = errors.New("engine is closed")

func (e *memEngine) Commit(_ context.Context, batch []store.PartitionOps) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errEngineClosed
	}
	if e.failing != nil {
		return e.failing
	}
	e.commits++
	for _, p := range batch {
		for _, op := range p.Ops {
			if op.Delete {
				delete(e.values, string(op.Key))
			} else {
				e.values[string(op.Key)] = bytes.Clone(op.Value)
			}
		}
	}
	e.keys = nil
	return nil
}

func (e *memEngine) Get(dst, key []byte) ([]byte, bool, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return dst, false, errEngineClosed
	}
	value, ok := e.values[string(key)]
	return append(dst, value...), ok, nil
}

func (e *memEngine) Scan(from, to []byte, each func(key, value []byte) bool) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return errEngineClosed
	}
	if e.keys == nil {
		e.keys = slices.Sorted(maps.Keys(e.values))
	}
	first, _ := slices.BinarySearch(e.keys, string(from))
	last, _ := slices.BinarySearch(e.keys, string(to))
	keys := e.keys[first:max(first, last)]
	values := make([][]byte, len(keys))
	for i, key := range keys {
		values[i] = e.values[key]
	}
	e.mu.Unlock()
	for i, key := range keys {
		if !each([]byte(key), values[i]) {
			break
		}
	}
	return nil
}

func (e *memEngine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return nil
}

// clone is what a restart finds.
func (e *memEngine) clone() *memEngine {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return &memEngine{values: maps.Clone(e.values)}
}
