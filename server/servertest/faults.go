package servertest

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"lifeline/store"
)

// Faults stands between a node and its store and makes both unreliable as told: events lose recipients, reads fail or
// come late, submissions are refused. The store below stays whole: only hints and answers suffer.
type Faults struct {
	store.Store

	mu     sync.Mutex
	rng    *rand.Rand
	rates  Rates
	refuse func(store.Command) store.Refusal
	onAck  func(store.Ack)
}

// Rates are probabilities from 0 to 1, and the longest delay of a read.
type Rates struct {
	LoseItem float64
	FailRead float64
	MaxDelay time.Duration
}

// WithFaults puts faults, driven by seed, between the node and its store.
func WithFaults(f *Faults, seed uint64) Option {
	f.rng = rand.New(rand.NewPCG(seed, 1))
	return WrapStore(func(open func(store.Sink) (store.Store, error)) func(store.Sink) (store.Store, error) {
		return func(sink store.Sink) (store.Store, error) {
			below, err := open(lossy{f, sink})
			f.Store = below
			return f, err
		}
	})
}

// Set changes the rates.
func (f *Faults) Set(r Rates) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rates = r
}

// Refuse has decide answer every submission; None lets it through. A nil decide ends that.
func (f *Faults) Refuse(decide func(store.Command) store.Refusal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = decide
}

func (f *Faults) chance(p func(Rates) float64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.Float64() < p(f.rates)
}

func (f *Faults) delay() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rates.MaxDelay == 0 {
		return 0
	}
	return time.Duration(f.rng.Int64N(int64(f.rates.MaxDelay)))
}

// Submit implements store.Store.
func (f *Faults) Submit(c store.Command) store.Refusal {
	f.mu.Lock()
	refuse := f.refuse
	f.mu.Unlock()
	if refuse != nil {
		if r := refuse(c); r != store.None {
			return r
		}
	}
	return f.Store.Submit(c)
}

// OnAck has see told of every Ack before the store is; it may panic.
func (f *Faults) OnAck(see func(store.Ack)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onAck = see
}

// Ack implements store.Store.
func (f *Faults) Ack(a store.Ack) {
	f.mu.Lock()
	see := f.onAck
	f.mu.Unlock()
	if see != nil {
		see(a)
	}
	f.Store.Ack(a)
}

var errFault = errors.New("a read failed as the test wants it")

// Inbox implements store.Store.
func (f *Faults) Inbox(r store.InboxRead) (store.InboxPage, error) {
	if d := f.delay(); d > 0 {
		Idle(d)
	}
	if f.chance(func(r Rates) float64 { return r.FailRead }) {
		return store.InboxPage{}, errFault
	}
	return f.Store.Inbox(r)
}

// lossy forgets recipients on the way to the node.
type lossy struct {
	f    *Faults
	sink store.Sink
}

// Committed implements store.Sink.
func (l lossy) Committed(batch []store.Event) {
	kept := make([]store.Event, len(batch))
	for i, e := range batch {
		to := e.To
		e.To = nil
		for _, r := range to {
			if !l.f.chance(func(r Rates) float64 { return r.LoseItem }) {
				e.To = append(e.To, r)
			}
		}
		kept[i] = e
	}
	l.sink.Committed(kept)
}
