package route

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Memory is a table in this process: the plain statement of what a table does, and the world that several nodes share in
// tests. A node without Redis needs none, for its directory knows all there is.
type Memory struct {
	now func() time.Time // set at construction

	// Guarded by mu.
	mu          sync.Mutex
	users       map[string]map[string]Record // user → device
	generations Generations
	leases      map[string]memoryLease
	known       map[string]memorySighting
	listeners   map[*listener]bool
}

// NewMemory returns an empty table. If now is nil, time is time.Now's.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	m := &Memory{now: now}
	m.Flush()
	m.listeners = make(map[*listener]bool)
	return m
}

// Flush empties the table, leases and generations included.
func (m *Memory) Flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users = make(map[string]map[string]Record)
	m.generations = Generations{}
	m.leases = make(map[string]memoryLease)
	m.known = make(map[string]memorySighting)
}

// Table returns the table as a node sees it whose clock is now; if nil, it is the table's.
func (m *Memory) Table(self Self, now func() time.Time) Table {
	if now == nil {
		now = m.now
	}
	return &memoryTable{Memory: m, self: self, clock: now}
}

type memoryTable struct {
	*Memory
	self  Self
	clock func() time.Time // the node's

	// Guarded by mu.
	closed  bool
	scanned []string // the users a scan walks over, as they were when it began
}

// when translates a moment of the node's clock.
func (t *memoryTable) when(at time.Time) time.Time { return t.now().Add(at.Sub(t.clock())) }

var errClosed = errors.New("the table is closed")

// enter takes the lock; the caller gives it back if err is nil.
func (t *memoryTable) enter(ctx context.Context, elements int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if elements > MaxBatch {
		return errors.New("the batch is too large")
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return errClosed
	}
	return nil
}

func (t *memoryTable) Register(ctx context.Context, batch []Session) ([]Outcome, error) {
	outcomes := make([]Outcome, len(batch))
	if err := t.enter(ctx, len(batch)); err != nil {
		return outcomes, err
	}
	defer t.mu.Unlock()
	for i := range batch {
		outcomes[i] = t.register(&batch[i])
	}
	return outcomes, nil
}

func (t *memoryTable) register(s *Session) Outcome {
	now := t.now()
	r := Record{User: s.User, Device: s.Device, ConnID: s.ConnID, Node: t.self.Node, Incarnation: t.self.Incarnation,
		Instance: s.Instance, Attempt: s.Attempt, Order: s.Order, Platform: s.Platform, Suspect: s.Suspect,
		Since: t.when(s.Started), LastSeen: t.when(s.Seen)}
	r.Expiry = r.LastSeen.Add(t.self.TTL)
	devices := t.users[s.User]
	outcome, refused := Created, Verdict(0)
	if own, ok := devices[s.Device]; ok && own.Key() == r.Key() && !now.After(own.Expiry) {
		outcome = Kept
		r.Since = own.Since
	}
	var losers []Record
	for _, old := range devices {
		if !now.After(old.Expiry) && t.rivals(&r, &old) && old.Key() != r.Key() {
			wins, verdict := r.beats(&old)
			if !wins && (refused == 0 || old.Device == r.Device) {
				refused = verdict
			}
			losers = append(losers, old)
		}
	}
	switch refused {
	case Superseded:
		return RefusedSuperseded
	case Displaced:
		return RefusedDisplaced
	}
	for i := range losers {
		outcome = TookOver
		t.lose(&r, &losers[i])
	}
	if devices == nil {
		devices = make(map[string]Record)
		t.users[s.User] = devices
	}
	devices[s.Device] = r
	return outcome
}

// rivals reports whether two records of a user want the same place.
func (t *memoryTable) rivals(r, old *Record) bool {
	return r.Device == old.Device || t.self.ExclusivePlatform && r.Platform != 0 && r.Platform == old.Platform
}

// lose removes a record that has lost its place to r. A node settles its own sessions itself.
func (t *memoryTable) lose(r, old *Record) {
	delete(t.users[old.User], old.Device)
	if _, verdict := r.beats(old); old.Node != r.Node {
		t.tell(old.Node, old.Incarnation, Notice{ConnID: old.ConnID, Verdict: verdict})
	}
}

func (t *memoryTable) Remove(ctx context.Context, batch []Key) ([]bool, error) {
	removed := make([]bool, len(batch))
	if err := t.enter(ctx, len(batch)); err != nil {
		return removed, err
	}
	defer t.mu.Unlock()
	for i, key := range batch {
		devices := t.users[key.User]
		if r, ok := devices[key.Device]; ok && r.Key() == key {
			removed[i] = true
			if delete(devices, key.Device); len(devices) == 0 {
				delete(t.users, key.User)
			}
		}
	}
	return removed, nil
}

func (t *memoryTable) Refresh(ctx context.Context, batch []Session) ([]Freshness, error) {
	found := make([]Freshness, len(batch))
	if err := t.enter(ctx, len(batch)); err != nil {
		return found, err
	}
	defer t.mu.Unlock()
	now := t.now()
	for i := range batch {
		s := &batch[i]
		r, ok := t.users[s.User][s.Device]
		switch {
		case !ok || now.After(r.Expiry):
			found[i] = Missing
		case r.Key() != t.self.Key(s.User, s.Device, s.ConnID):
			found[i] = TakenOver
		default:
			found[i] = Ours
			r.Suspect = s.Suspect
			if seen := t.when(s.Seen); seen.After(r.LastSeen) {
				r.LastSeen = seen
			}
			r.Expiry = r.LastSeen.Add(t.self.TTL)
			t.users[s.User][s.Device] = r
		}
	}
	return found, nil
}

func (t *memoryTable) Lookup(ctx context.Context, users []string) (Lookup, error) {
	if err := t.enter(ctx, len(users)); err != nil {
		return Lookup{}, err
	}
	defer t.mu.Unlock()
	l := Lookup{Now: t.now()}
	for _, user := range users {
		l.Generations[Bucket(user)] = t.generations[Bucket(user)]
		for _, r := range t.users[user] {
			if !l.Now.After(r.Expiry) {
				l.Records = append(l.Records, r)
			}
		}
	}
	return l, nil
}

func (t *memoryTable) Scan(ctx context.Context, at string) (Scanned, error) {
	if err := t.enter(ctx, 0); err != nil {
		return Scanned{}, err
	}
	defer t.mu.Unlock()
	if at == "" {
		t.scanned = slices.Sorted(maps.Keys(t.users))
	}
	s := Scanned{Now: t.now(), Size: len(t.users)}
	after, _ := slices.BinarySearch(t.scanned, at+"\x00")
	users := t.scanned[after:]
	if len(users) > MaxBatch {
		users = users[:MaxBatch]
		s.Next = users[MaxBatch-1]
	}
	for _, user := range users {
		for _, r := range t.users[user] {
			s.Records = append(s.Records, r)
		}
	}
	return s, nil
}

func (t *memoryTable) Generations(ctx context.Context) (Generations, error) {
	if err := t.enter(ctx, 0); err != nil {
		return Generations{}, err
	}
	defer t.mu.Unlock()
	for b, n := range t.generations {
		for n == 0 {
			n = rand.Uint64()
		}
		t.generations[b] = n
	}
	return t.generations, nil
}

func (t *memoryTable) Advice(context.Context) (string, error) { return "", nil }

// Connections is always 1: what is in memory is not lost behind anyone's back.
func (t *memoryTable) Connections() uint64 { return 1 }

func (t *memoryTable) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return nil
}
