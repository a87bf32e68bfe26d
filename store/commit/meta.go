package commit

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"lifeline/store"
)

// Meta is what a store knows of itself.
type Meta struct {
	Epoch store.Epoch
	Boot  uint64 // counts the starts
}

// NewEpoch makes the random name of a new history.
func NewEpoch() (e store.Epoch) {
	rand.Read(e[:])
	return e
}

// ReadMeta returns ok false for an engine that holds nothing at all. One that holds keys but no Meta is damaged.
func ReadMeta(engine store.Engine) (m Meta, ok bool, err error) {
	value, found, err := engine.Get(nil, metaKey())
	if err != nil {
		return m, false, fmt.Errorf("read the store's own record: %w", err)
	}
	if found {
		return m, true, m.parse(value)
	}
	empty := true
	err = engine.Scan([]byte{0}, []byte{0xff, 0xff}, func([]byte, []byte) bool { empty = false; return false })
	if err == nil && !empty {
		err = keyError(metaKey(), errors.New("missing, in a store that holds other keys"))
	}
	return m, false, err
}

// mustReadMeta is ReadMeta of a store that exists.
func mustReadMeta(engine store.Engine) (Meta, error) {
	m, ok, err := ReadMeta(engine)
	if err == nil && !ok {
		err = errors.New("no store is here: its own record is missing")
	}
	return m, err
}

// WriteMeta is durable when it returns nil.
func WriteMeta(engine store.Engine, m Meta) error {
	op := store.Op{Key: metaKey(), Value: m.append(nil)}
	return engine.Commit(context.Background(), []store.PartitionOps{{Partition: ownPartition, Index: m.Boot, Ops: []store.Op{op}}})
}

func (m *Meta) append(dst []byte) []byte {
	dst = append(append(dst, valueVersion), m.Epoch[:]...)
	return binary.AppendUvarint(binary.AppendUvarint(dst, m.Boot), store.Partitions)
}

func (m *Meta) parse(value []byte) error {
	f := parse(value)
	copy(m.Epoch[:], f.fixed(uint64(len(m.Epoch))))
	m.Boot = f.number()
	partitions := f.number()
	if err := f.end(); err != nil {
		return keyError(metaKey(), err)
	}
	if partitions != store.Partitions {
		return fmt.Errorf("the store has %d partitions, this program works with %d", partitions, store.Partitions)
	}
	return nil
}
