package storetest

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"

	"lifeline/store"
)

// lie is one way in which a store can be wrong.
type lie struct {
	name     string
	caughtBy string // a test of the suite that must fail
	now      func(now func() time.Time) func() time.Time
	queue    int
	sink     func(next store.Sink) store.Sink
	open     func(*liar) // bends a new store
	reopen   func(*liar) // bends a store that was opened again
}

// liar is a store with some of its methods bent. A nil function bends nothing.
type liar struct {
	store.Store
	submit  func(store.Command) store.Refusal
	ack     func(store.Ack)
	start   func(user, device string, s store.Start) store.Start
	inbox   func(store.InboxRead, store.InboxPage) store.InboxPage
	history func(store.HistoryRead, store.HistoryPage) store.HistoryPage
	devices func([]store.Device) []store.Device
	epoch   func() store.Epoch
	close   func() error
}

// harness makes the harness of a store that lies.
func (lie lie) harness() Harness {
	options := func(o Options) Options {
		if lie.sink != nil {
			o.Sink = lie.sink(o.Sink)
		}
		if lie.now != nil {
			o.Now = lie.now(o.Now)
		}
		if lie.queue != 0 {
			o.Queue = lie.queue
		}
		return o
	}
	h := honest
	h.Open = func(tb testing.TB, o Options) store.Store {
		l := &liar{Store: openDurable(tb, options(o))}
		if lie.open != nil {
			lie.open(l)
		}
		return l
	}
	h.Reopen = func(tb testing.TB, s store.Store, o Options) store.Store {
		l := *s.(*liar)
		l.Store = reopenDurable(tb, l.Store, options(o))
		if lie.reopen != nil {
			lie.reopen(&l)
		}
		return &l
	}
	h.Crash = h.Reopen
	h.Model = &honest
	return h
}

func (l *liar) Submit(c store.Command) store.Refusal {
	if l.submit != nil {
		return l.submit(c)
	}
	return l.Store.Submit(c)
}

func (l *liar) Devices(user string) ([]store.Device, error) {
	list, err := l.Store.Devices(user)
	if l.devices != nil {
		list = l.devices(list)
	}
	return list, err
}

func (l *liar) Ack(a store.Ack) {
	if l.ack != nil {
		l.ack(a)
		return
	}
	l.Store.Ack(a)
}

func (l *liar) Start(user, device string) (store.Start, error) {
	s, err := l.Store.Start(user, device)
	if l.start != nil {
		s = l.start(user, device, s)
	}
	return s, err
}

func (l *liar) Inbox(r store.InboxRead) (store.InboxPage, error) {
	page, err := l.Store.Inbox(r)
	if l.inbox != nil {
		page = l.inbox(r, page)
	}
	return page, err
}

func (l *liar) History(r store.HistoryRead) (store.HistoryPage, error) {
	page, err := l.Store.History(r)
	if l.history != nil {
		page = l.history(r, page)
	}
	return page, err
}

func (l *liar) Epoch() store.Epoch {
	if l.epoch != nil {
		return l.epoch()
	}
	return l.Store.Epoch()
}

func (l *liar) Close() error {
	if l.close != nil {
		return l.close()
	}
	return l.Store.Close()
}

// sinkFunc is a function that is a sink.
type sinkFunc func([]store.Event)

func (f sinkFunc) Committed(batch []store.Event) { f(batch) }

// replyFunc is a function that is a replier.
type replyFunc func(store.Answer)

func (f replyFunc) Reply(a store.Answer) { f(a) }

// events makes a sink that says something else about each event.
func events(bend func(store.Event) []store.Event) func(store.Sink) store.Sink {
	return func(next store.Sink) store.Sink {
		return sinkFunc(func(batch []store.Event) {
			var bent []store.Event
			for _, e := range batch {
				bent = append(bent, bend(e)...)
			}
			next.Committed(bent)
		})
	}
}

// answers bends a store's answers.
func answers(bend func(store.Command, store.Answer) []store.Answer) func(*liar) {
	return func(l *liar) {
		l.submit = func(c store.Command) store.Refusal {
			next := replier(c)
			address(c, origin(c).Tag, replyFunc(func(a store.Answer) {
				for _, a := range bend(c, a) {
					next.Reply(a)
				}
			}))
			return l.Store.Submit(c)
		}
	}
}

// instead makes a store that says None where it should refuse.
func instead(of store.Refusal) func(*liar) {
	return answers(func(_ store.Command, a store.Answer) []store.Answer {
		if a.Refusal == of {
			a.Refusal = store.None
		}
		return []store.Answer{a}
	})
}

// commands bends what a store is told, on a copy.
func commands(bend func(store.Command)) func(*liar) {
	return func(l *liar) {
		l.submit = func(c store.Command) store.Refusal {
			c = twin(c)
			bend(c)
			return l.Store.Submit(c)
		}
	}
}

func replier(c store.Command) store.Replier {
	switch c := c.(type) {
	case *store.Send:
		return c.Reply
	case *store.Members:
		return c.Reply
	case *store.Forget:
		return c.Reply
	}
	return nil
}

// late makes a sink that tells of a batch only when the next one comes.
func late(next store.Sink) store.Sink {
	var waiting []store.Event
	return sinkFunc(func(batch []store.Event) {
		next.Committed(waiting)
		waiting = slices.Clone(batch)
	})
}

// memory is a map that many goroutines may use.
type memory[K comparable, V any] struct {
	// Guarded by mu.
	mu sync.Mutex
	m  map[K]V
}

// swap stores a value and returns the one before it.
func (m *memory[K, V]) swap(k K, v V) (before V, existed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.m == nil {
		m.m = map[K]V{}
	}
	before, existed = m.m[k]
	m.m[k] = v
	return before, existed
}

func (m *memory[K, V]) get(k K) (v V, exists bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, exists = m.m[k]
	return v, exists
}

// firstPayload makes a store that takes every payload of a client id for the first.
func firstPayload(l *liar) {
	var payloads memory[key, []byte]
	l.submit = func(c store.Command) store.Refusal {
		if s, ok := c.(*store.Send); ok {
			s = again(s)
			if first, used := payloads.get(keyOfSend(s)); used {
				s.Payload = bytes.Clone(first)
			}
			payloads.swap(keyOfSend(s), s.Payload)
			c = s
		}
		return l.Store.Submit(c)
	}
}

// lastAck makes a store whose cursors follow the last ack, wherever it goes.
func lastAck(l *liar) {
	var acked memory[[2]string, uint64]
	l.ack = func(a store.Ack) {
		if a.HasPos {
			acked.swap([2]string{a.User, a.Device}, a.Pos)
		}
		l.Store.Ack(a)
	}
	l.start = func(user, device string, s store.Start) store.Start {
		if pos, ok := acked.get([2]string{user, device}); ok && s.HasCursor {
			s.Cursor = pos
		}
		return s
	}
}

// unforgotten makes a store in which an old ack comes back after a Forget, with the device's other acks.
func unforgotten(l *liar) {
	var acked memory[string, store.Ack]
	l.ack = func(a store.Ack) {
		if a.Device == "phone" {
			acked.swap(a.User, a)
		} else if before, ok := acked.get(a.User); ok {
			l.Store.Ack(before)
		}
		l.Store.Ack(a)
	}
}

// pairs makes a store that takes messages two by two, the second first.
func pairs(l *liar) {
	var held store.Command
	l.submit = func(c store.Command) store.Refusal {
		s, ok := c.(*store.Send)
		if !ok || string(s.Payload) != "one after the other" {
			return l.Store.Submit(c)
		}
		if held == nil {
			held = c
			return store.None
		}
		first := held
		held = nil
		l.Store.Submit(c)
		return l.Store.Submit(first)
	}
}

// twice makes a store that now and then stores a message twice.
func twice(l *liar) {
	l.submit = func(c store.Command) store.Refusal {
		if s, ok := c.(*store.Send); ok && origin(c).Tag%5 == 0 {
			other := again(s)
			other.ClientID = append([]byte("again"), s.ClientID...)
			other.Reply = replyFunc(func(store.Answer) {})
			l.Store.Submit(other)
		}
		return l.Store.Submit(c)
	}
}
