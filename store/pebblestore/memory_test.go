package pebblestore

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"

	"lifeline/store"
)

// memory is an engine in memory that begins with what another holds.
type memory struct {
	mu     sync.Mutex
	keys   []string // sorted
	values map[string][]byte
}

func copyOf(t *testing.T, e store.Engine) *memory {
	m := &memory{values: map[string][]byte{}}
	err := e.Scan([]byte{0}, []byte{0xff, 0xff}, func(key, value []byte) bool {
		m.keys = append(m.keys, string(key))
		m.values[string(key)] = bytes.Clone(value)
		return true
	})
	if err != nil {
		t.Error(err)
	}
	return m
}

func (m *memory) Commit(_ context.Context, batch []store.PartitionOps) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range batch {
		for _, op := range p.Ops {
			at, found := slices.BinarySearch(m.keys, string(op.Key))
			switch {
			case op.Delete && found:
				m.keys = slices.Delete(m.keys, at, at+1)
				delete(m.values, string(op.Key))
			case !op.Delete:
				m.values[string(op.Key)] = bytes.Clone(op.Value)
				if !found {
					m.keys = slices.Insert(m.keys, at, string(op.Key))
				}
			}
		}
	}
	return nil
}

func (m *memory) Get(dst, key []byte) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.values[string(key)]
	return append(dst, value...), ok, nil
}

func (m *memory) Scan(from, to []byte, each func(key, value []byte) bool) error {
	m.mu.Lock()
	first, _ := slices.BinarySearch(m.keys, string(from))
	last, _ := slices.BinarySearch(m.keys, string(to))
	found := make([][2][]byte, 0, max(0, last-first))
	for _, key := range m.keys[first:max(first, last)] {
		found = append(found, [2][]byte{[]byte(key), m.values[key]})
	}
	m.mu.Unlock()
	for _, f := range found {
		if !each(f[0], f[1]) {
			break
		}
	}
	return nil
}

func (m *memory) Close() error { return nil }
