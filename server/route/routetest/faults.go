package routetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"lifeline/server/route"
)

// Faults is a table that fails when it is told to. Its own methods may be called from any goroutine.
type Faults struct {
	route.Table

	mu       sync.Mutex
	dead     bool
	hanging  time.Duration
	slow     time.Duration
	readOnly bool
	losing   float64
	made     uint64
	writes   uint64
	reads    uint64
}

// ErrFault is what fails.
var ErrFault = errors.New("a fault of the test")

// Dead makes every call fail at once, until it is undone.
func (f *Faults) Dead(yes bool) { f.set(func() { f.dead = yes }) }

// Hang makes every call fail after a while; 0 undoes it.
func (f *Faults) Hang(after time.Duration) { f.set(func() { f.hanging = after }) }

// Slow makes every call take a while; 0 undoes it.
func (f *Faults) Slow(each time.Duration) { f.set(func() { f.slow = each }) }

// ReadOnly makes every call that writes fail at once, until it is undone.
func (f *Faults) ReadOnly(yes bool) { f.set(func() { f.readOnly = yes }) }

// Lose makes calls that write fail with a probability, one half of them after they were applied.
func (f *Faults) Lose(probability float64) { f.set(func() { f.losing = probability }) }

// Reconnect makes it look as if the line had been broken and made again.
func (f *Faults) Reconnect() { f.set(func() { f.made++ }) }

// Written is the number of records written or removed, and leases renewed.
func (f *Faults) Written() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

// Read is the number of users looked up, leases read and steps of scans.
func (f *Faults) Read() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads
}

func (f *Faults) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// fault decides about one call of n elements: whether it is made, and whether it fails then.
func (f *Faults) fault(ctx context.Context, write bool, n int) (before, after error) {
	f.mu.Lock()
	takes := f.slow
	switch {
	case f.dead || f.hanging > 0 || f.readOnly && write:
		before, takes = ErrFault, f.hanging
	case write && f.losing > 0 && rand.Float64() < f.losing:
		if after = ErrFault; rand.IntN(2) == 0 {
			before, after = ErrFault, nil
		}
	}
	if write {
		f.writes += uint64(n)
	} else {
		f.reads += uint64(n)
	}
	f.mu.Unlock()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
	}
	return before, after
}

// Register implements [route.Table].
func (f *Faults) Register(ctx context.Context, batch []route.Session) ([]route.Outcome, error) {
	return faulty(ctx, f, len(batch), func() ([]route.Outcome, error) { return f.Table.Register(ctx, batch) })
}

// Remove implements [route.Table].
func (f *Faults) Remove(ctx context.Context, batch []route.Key) ([]bool, error) {
	return faulty(ctx, f, len(batch), func() ([]bool, error) { return f.Table.Remove(ctx, batch) })
}

// Refresh implements [route.Table].
func (f *Faults) Refresh(ctx context.Context, batch []route.Session) ([]route.Freshness, error) {
	return faulty(ctx, f, len(batch), func() ([]route.Freshness, error) { return f.Table.Refresh(ctx, batch) })
}

// faulty makes a call that writes; when it fails, nothing is known of any element.
func faulty[T any](ctx context.Context, f *Faults, n int, call func() ([]T, error)) ([]T, error) {
	before, after := f.fault(ctx, true, n)
	if before != nil {
		return make([]T, n), before
	}
	got, err := call()
	if after != nil {
		return make([]T, n), after
	}
	return got, err
}

// Lookup implements [route.Table].
func (f *Faults) Lookup(ctx context.Context, users []string) (route.Lookup, error) {
	if err, _ := f.fault(ctx, false, len(users)); err != nil {
		return route.Lookup{}, err
	}
	return f.Table.Lookup(ctx, users)
}

// Scan implements [route.Table].
func (f *Faults) Scan(ctx context.Context, at string) (route.Scanned, error) {
	if err, _ := f.fault(ctx, false, 1); err != nil {
		return route.Scanned{}, err
	}
	return f.Table.Scan(ctx, at)
}

// Generations implements [route.Table].
func (f *Faults) Generations(ctx context.Context) (route.Generations, error) {
	if err, _ := f.fault(ctx, false, 1); err != nil {
		return route.Generations{}, err
	}
	return f.Table.Generations(ctx)
}

// Renew implements [route.Table].
func (f *Faults) Renew(ctx context.Context, lease route.Lease, ttl time.Duration) (bool, error) {
	before, after := f.fault(ctx, true, 1)
	if before != nil {
		return false, before
	}
	held, err := f.Table.Renew(ctx, lease, ttl)
	return held, errors.Join(err, after)
}

// Release implements [route.Table].
func (f *Faults) Release(ctx context.Context) error {
	if before, _ := f.fault(ctx, true, 1); before != nil {
		return before
	}
	return f.Table.Release(ctx)
}

// Leases implements [route.Table].
func (f *Faults) Leases(ctx context.Context) (route.Leases, error) {
	if err, _ := f.fault(ctx, false, 1); err != nil {
		return route.Leases{}, err
	}
	return f.Table.Leases(ctx)
}

// Ask implements [route.Table].
func (f *Faults) Ask(ctx context.Context, batch []route.Key) error {
	if err, _ := f.fault(ctx, false, 1); err != nil {
		return err
	}
	return f.Table.Ask(ctx, batch)
}

// Connections implements [route.Table].
func (f *Faults) Connections() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Table.Connections() + f.made
}
