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

// memEngine is an engine in memory. It sorts the keys of a partition when they are scanned.
type memEngine struct {
	mu      sync.Mutex
	values  [256]map[string][]byte // by partition
	sorted  [256][]string          // by partition; nil = to be sorted
	closed  bool
	failing error          // of every Commit, when set
	watch   func(store.Op) // each one that is in, when set; mu is held
	commits int
}

func newMemEngine() *memEngine {
	e := &memEngine{}
	for p := range e.values {
		e.values[p] = map[string][]byte{}
	}
	return e
}

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
		e.sorted[uint8(p.Partition)] = nil
		for _, op := range p.Ops {
			if op.Delete {
				delete(e.values[op.Key[0]], string(op.Key))
			} else {
				e.values[op.Key[0]][string(op.Key)] = bytes.Clone(op.Value)
			}
		}
	}
	if e.watch != nil {
		for _, p := range batch {
			for _, op := range p.Ops {
				e.watch(op)
			}
		}
	}
	return nil
}

func (e *memEngine) Get(dst, key []byte) ([]byte, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return dst, false, errEngineClosed
	}
	value, ok := e.values[key[0]][string(key)]
	return append(dst, value...), ok, nil
}

func (e *memEngine) Scan(from, to []byte, each func(key, value []byte) bool) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return errEngineClosed
	}
	var found [][2][]byte
	for p := int(from[0]); p <= int(to[0]); p++ {
		keys := e.keys(byte(p))
		first, _ := slices.BinarySearch(keys, string(from))
		last, _ := slices.BinarySearch(keys, string(to))
		for _, key := range keys[first:max(first, last)] {
			found = append(found, [2][]byte{[]byte(key), e.values[p][key]})
		}
	}
	e.mu.Unlock()
	for _, f := range found {
		if !each(f[0], f[1]) {
			break
		}
	}
	return nil
}

// keys returns the sorted keys of a partition.
func (e *memEngine) keys(p byte) []string {
	if e.sorted[p] == nil {
		e.sorted[p] = slices.AppendSeq([]string{}, maps.Keys(e.values[p]))
		slices.Sort(e.sorted[p])
	}
	return e.sorted[p]
}

func (e *memEngine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return nil
}

// clone is what a restart finds.
func (e *memEngine) clone() *memEngine {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.copied()
}

func (e *memEngine) copied() *memEngine {
	c := newMemEngine()
	for p := range e.values {
		c.values[p] = maps.Clone(e.values[p])
	}
	return c
}

// put changes a value behind a store's back.
func (e *memEngine) put(key string, value []byte) {
	e.values[key[0]][key] = value
	e.sorted[key[0]] = nil
}

// remove takes a key away behind a store's back.
func (e *memEngine) remove(key string) {
	delete(e.values[key[0]], key)
	e.sorted[key[0]] = nil
}

// all returns every key, sorted.
func (e *memEngine) all() (keys []string) {
	for p := range e.values {
		keys = append(keys, e.keys(byte(p))...)
	}
	return keys
}
