package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"lifeline/store"
)

var errClosed = errors.New("the store is closed")

// engine is a store.Engine over Pebble.
//
// Pebble shows a batch to readers before its log is synced. What is read here goes to clients, who keep numbers; so
// reads see a snapshot that is taken after each commit has become durable, and nothing later.
type engine struct {
	db     *pebble.DB
	newest atomic.Pointer[view] // nil when closed
	views  sync.WaitGroup       // those not released
}

// view is a snapshot of what is durable.
type view struct {
	snapshot *pebble.Snapshot
	users    atomic.Int64 // its readers, and one while it is the newest
}

func newEngine(db *pebble.DB) *engine {
	e := &engine{db: db}
	e.renew()
	return e
}

// renew shows readers what is committed. Called by one goroutine at a time.
func (e *engine) renew() {
	v := &view{snapshot: e.db.NewSnapshot()}
	v.users.Store(1)
	e.views.Add(1)
	if old := e.newest.Swap(v); old != nil {
		e.release(old)
	}
}

func (e *engine) acquire() (*view, error) {
	for {
		v := e.newest.Load()
		if v == nil {
			return nil, errClosed
		}
		if n := v.users.Load(); n > 0 && v.users.CompareAndSwap(n, n+1) {
			return v, nil
		}
	}
}

func (e *engine) release(v *view) {
	if v.users.Add(-1) == 0 {
		v.snapshot.Close() // never fails
		e.views.Done()
	}
}

// Commit writes and syncs one Pebble batch.
func (e *engine) Commit(_ context.Context, batch []store.PartitionOps) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *stoppedError:
			err = p
		default:
			panic(p)
		}
	}()
	size := 16
	for _, p := range batch {
		for _, op := range p.Ops {
			size += len(op.Key) + len(op.Value) + 8
		}
	}
	b := e.db.NewBatchWithSize(size)
	for _, p := range batch {
		for _, op := range p.Ops {
			if op.Delete {
				err = b.Delete(op.Key, nil)
			} else {
				err = b.Set(op.Key, op.Value, nil)
			}
			if err != nil {
				return fmt.Errorf("add to a batch: %w", err)
			}
		}
	}
	if err := e.db.Apply(b, pebble.Sync); err != nil {
		return err
	}
	e.renew()
	return b.Close()
}

// Get reads what is durable.
func (e *engine) Get(dst, key []byte) ([]byte, bool, error) {
	v, err := e.acquire()
	if err != nil {
		return dst, false, err
	}
	defer e.release(v)
	value, closer, err := v.snapshot.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, err
	}
	dst = append(dst, value...)
	return dst, true, closer.Close()
}

// Scan reads what is durable.
func (e *engine) Scan(from, to []byte, each func(key, value []byte) bool) error {
	v, err := e.acquire()
	if err != nil {
		return err
	}
	defer e.release(v)
	iter, err := v.snapshot.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		value, err := iter.ValueAndErr()
		if err != nil {
			return errors.Join(err, iter.Close())
		}
		if !each(iter.Key(), value) {
			break
		}
	}
	return iter.Close() // tells of an error on the way
}

// Close waits for the reads under way.
func (e *engine) Close() error {
	v := e.newest.Swap(nil)
	if v == nil {
		return nil
	}
	e.release(v)
	e.views.Wait()
	return e.db.Close()
}
