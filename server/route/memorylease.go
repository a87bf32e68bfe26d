package route

import (
	"context"
	"slices"
	"time"
)

// noticesWait is how many notices may wait for a listener; more are lost.
const noticesWait = 1024

type memoryLease struct {
	Lease
	until time.Time
}

type listener struct {
	node        string
	incarnation uint64
	line        chan Notice
}

type memorySighting struct {
	incarnation uint64
	seen        time.Time
	released    bool
}

func (t *memoryTable) Renew(ctx context.Context, lease Lease, ttl time.Duration) (held bool, err error) {
	if err := t.enter(ctx, 0); err != nil {
		return false, err
	}
	defer t.mu.Unlock()
	now := t.now()
	lease.Node, lease.Incarnation, lease.Directory, lease.TTL = t.self.Node, t.self.Incarnation, t.self.Directory, t.self.TTL
	lease.ExclusivePlatform = t.self.ExclusivePlatform
	if old, ok := t.leases[lease.Node]; ok && now.Before(old.until) {
		if old.Incarnation != lease.Incarnation && old.Directory != lease.Directory {
			return false, ErrNodeTaken
		}
		held = old.Incarnation == lease.Incarnation
	}
	t.leases[lease.Node] = memoryLease{lease, now.Add(ttl)}
	t.known[lease.Node] = memorySighting{incarnation: lease.Incarnation, seen: now}
	return held, nil
}

func (t *memoryTable) Release(ctx context.Context) error {
	if err := t.enter(ctx, 0); err != nil {
		return err
	}
	defer t.mu.Unlock()
	if seen, ok := t.known[t.self.Node]; !ok || seen.incarnation == t.self.Incarnation {
		delete(t.leases, t.self.Node)
		t.known[t.self.Node] = memorySighting{incarnation: t.self.Incarnation, seen: t.now(), released: true}
	}
	return nil
}

func (t *memoryTable) Leases(ctx context.Context) (Leases, error) {
	if err := t.enter(ctx, 0); err != nil {
		return Leases{}, err
	}
	defer t.mu.Unlock()
	now := t.now()
	var l Leases
	for _, lease := range t.leases {
		if lease.Left = lease.until.Sub(now); lease.Left > 0 {
			l.Live = append(l.Live, lease.Lease)
		}
	}
	for node, s := range t.known {
		l.Known = append(l.Known, Sighting{Node: node, Incarnation: s.incarnation, Age: now.Sub(s.seen), Released: s.released})
	}
	return l, nil
}

func (t *memoryTable) Notices(ctx context.Context, ready func(), f func(Notice)) error {
	if err := t.enter(ctx, 0); err != nil {
		return err
	}
	l := &listener{t.self.Node, t.self.Incarnation, make(chan Notice, noticesWait)}
	t.listeners[l] = true
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.listeners, l)
	}()
	ready()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case n := <-l.line:
			f(n)
		}
	}
}

func (t *memoryTable) Ask(ctx context.Context, batch []Key) error {
	if err := t.enter(ctx, len(batch)); err != nil {
		return err
	}
	defer t.mu.Unlock()
	t.tell(batch[0].Node, batch[0].Incarnation, Notice{Asked: slices.Clone(batch)})
	return nil
}

// tell gives a notice to whoever listens. The caller holds mu.
func (m *Memory) tell(node string, incarnation uint64, n Notice) {
	for l := range m.listeners {
		if l.node != node || l.incarnation != incarnation {
			continue
		}
		select {
		case l.line <- n:
		default:
		}
	}
}
