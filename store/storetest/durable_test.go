package storetest

import (
	"errors"
	"sync"
	"testing"

	"lifeline/store"
	"lifeline/store/memstore"
)

// switchboard is a sink that can be connected to another one.
type switchboard struct {
	// Guarded by mu.
	mu   sync.Mutex
	sink store.Sink
}

func (s *switchboard) connect(sink store.Sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sink = sink
}

func (s *switchboard) Committed(batch []store.Event) {
	s.mu.Lock()
	sink := s.sink
	s.mu.Unlock()
	sink.Committed(batch)
}

// durable makes a memstore look like a store that outlives Close: closing it closes only this door to it.
type durable struct {
	*memstore.Store
	sinks *switchboard

	// Guarded by mu.
	mu     sync.Mutex
	closed bool
}

func openDurable(tb testing.TB, o Options) store.Store {
	sinks := &switchboard{sink: o.Sink}
	inner := memstore.New(memstore.Options{Sink: sinks, Now: o.Now, Queue: o.Queue})
	tb.Cleanup(func() { inner.Close() })
	return &durable{Store: inner, sinks: sinks}
}

func reopenDurable(_ testing.TB, s store.Store, o Options) store.Store {
	d := s.(*durable)
	d.Close()
	d.sinks.connect(o.Sink)
	return &durable{Store: d.Store, sinks: d.sinks}
}

func (d *durable) Submit(c store.Command) store.Refusal {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return store.Closed
	}
	return d.Store.Submit(c)
}

var errDoorClosed = errors.New("the door is closed")

// open returns an error when the door is closed.
func (d *durable) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errDoorClosed
	}
	return nil
}

func (d *durable) Start(user, device string) (store.Start, error) {
	if err := d.open(); err != nil {
		return store.Start{}, err
	}
	return d.Store.Start(user, device)
}

func (d *durable) Inbox(r store.InboxRead) (store.InboxPage, error) {
	if err := d.open(); err != nil {
		return store.InboxPage{}, err
	}
	return d.Store.Inbox(r)
}

func (d *durable) History(r store.HistoryRead) (store.HistoryPage, error) {
	if err := d.open(); err != nil {
		return store.HistoryPage{}, err
	}
	return d.Store.History(r)
}

// Close waits until what is queued has been answered.
func (d *durable) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if !closed {
		Call(d.Store, &store.Forget{User: "nobody", Device: "none"})
	}
	return nil
}

// honest is a harness with every capability.
var honest = Harness{
	Open: openDurable,
	Trim: func(_ testing.TB, s store.Store, user string, upTo uint64) {
		model(s).Trim(user, upTo)
	},
	TrimConversation: func(_ testing.TB, s store.Store, conversation string, upTo uint64) {
		model(s).TrimConversation(conversation, upTo)
	},
	Reopen: reopenDurable,
	Crash:  reopenDurable,
}

// model finds the memstore inside a store of these tests.
func model(s store.Store) *memstore.Store {
	switch s := s.(type) {
	case *durable:
		return s.Store
	case *liar:
		return model(s.Store)
	}
	return s.(*memstore.Store)
}
