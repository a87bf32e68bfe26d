package route

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// silentHost has no sessions and answers nothing.
type silentHost struct{}

func (silentHost) Walk(uint64, int, func([]Session, uint64)) {}
func (silentHost) Holds([]uint64, func([]bool))              {}
func (silentHost) Displaced(uint64, Verdict)                 {}

// newTestRegistrar returns one that is not run, with a probe that has gone through.
func newTestRegistrar(t *testing.T) (*Registrar, *Memory) {
	self, memory := Self{Node: "a", Incarnation: 1, TTL: time.Hour}, NewMemory(nil)
	r, err := NewRegistrar(Options{Table: memory.Table(self, nil), Self: self, Host: silentHost{}, Settle: -1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r.probe(context.Background())
	return r, memory
}

// trusting returns one that trusts the table.
func trusting(t *testing.T) (*Registrar, *Memory) {
	r, memory := newTestRegistrar(t)
	r.rec.ended = true
	if r.conclude(context.Background(), r.now()); !r.breaker.Trusted() {
		t.Fatalf("the table is %v", r.breaker.State)
	}
	return r, memory
}

// A doubt that comes up in the turn in which a pass would end: the lease must not say that everything is there.
func TestDoubtInTheLastTurn(t *testing.T) {
	r, _ := newTestRegistrar(t)
	r.rec.ended = true
	r.stale.Store(true)
	r.turn(context.Background())
	l, err := r.table.Leases(context.Background())
	if err != nil || len(l.Live) != 1 || l.Live[0].Generations != (Generations{}) || r.breaker.Trusted() {
		t.Errorf("the lease is %+v, %v; the table is %v", l.Live, err, r.breaker.State)
	}
	r.probe(context.Background()) // due in a moment
	r.rec.ended = true
	r.turn(context.Background())
	if l, err = r.table.Leases(context.Background()); err != nil || !l.Live[0].Generations.Whole() || !r.breaker.Trusted() {
		t.Errorf("afterwards the lease is %+v, %v; the table is %v", l.Live, err, r.breaker.State)
	}
}

// A pass is not over before what it found is written, however soon others could know.
func TestPassWaitsForItsWrites(t *testing.T) {
	r, _ := newTestRegistrar(t)
	ctx := context.Background()
	now := time.Now()
	for i := range uint64(MaxBatch + 1) {
		r.queue(work{op: opRegister, session: Session{ConnID: i + 1, Started: now, Seen: now}})
	}
	r.rec.mark, r.rec.ended = r.pending.end(), true
	r.flush(ctx, now)
	if r.reconcileStep(ctx, now); r.breaker.Trusted() {
		t.Error("a session waits, and the lease says that there is none")
	}
	now = now.Add(gather)
	r.flush(ctx, now)
	if r.reconcileStep(ctx, now); !r.breaker.Trusted() {
		t.Errorf("everything is written, and the table is %v", r.breaker.State)
	}
}

// Nor does it wait for what was cancelled.
func TestPassDoesNotWaitForNothing(t *testing.T) {
	r, _ := newTestRegistrar(t)
	ctx, now := context.Background(), time.Now()
	r.queue(work{op: opRegister, session: Session{ConnID: 1}})
	r.rec.mark, r.rec.ended = r.pending.end(), true
	r.queue(work{op: opRemove, session: Session{ConnID: 1}})
	r.flush(ctx, now)
	if r.reconcileStep(ctx, now); !r.breaker.Trusted() {
		t.Errorf("nothing waits, and the table is %v", r.breaker.State)
	}
}

// counted counts the batches of a table.
type counted struct {
	Table
	batches int
}

func (c *counted) Register(ctx context.Context, batch []Session) ([]Outcome, error) {
	c.batches++
	return c.Table.Register(ctx, batch)
}

// What comes soon after a batch is gathered for the next one; the first of them and a full one do not wait.
func TestRecordsAreGathered(t *testing.T) {
	r, _ := trusting(t)
	c := &counted{Table: r.table}
	r.table = c
	conn, now := uint64(0), time.Now()
	for _, tt := range []struct {
		what     string
		sessions int
		after    time.Duration
		batches  int
		left     int
	}{
		{"the first", 1, 0, 1, 0},
		{"some more", 10, gather / 2, 0, 10},
		{"when they have waited", 10, gather / 2, 1, 0},
		{"a full batch and a half", MaxBatch + MaxBatch/2, gather / 2, 1, MaxBatch / 2},
		{"the half", 0, gather, 1, 0},
		{"one after a while", 1, time.Second, 1, 0},
	} {
		for range tt.sessions {
			conn++
			r.queue(work{op: opRegister, at: r.now(), session: Session{User: "u", Device: "d", ConnID: conn, Order: conn}})
		}
		now, c.batches = now.Add(tt.after), 0
		for r.flush(context.Background(), now) {
		}
		if c.batches != tt.batches || len(r.pending.conns) != tt.left {
			t.Errorf("%s: %d batches, and %d wait", tt.what, c.batches, len(r.pending.conns))
		}
	}
}

// The host's answer may come when it was asked again, or when the pass has begun anew.
func TestLateAnswersOfTheHostAreIgnored(t *testing.T) {
	c := reconcile{walking: true, waiting: true, cursor: 500}
	c.listed(0, []Session{{}}, 500)
	if !c.waiting || len(c.sessions) != 0 {
		t.Error("another part was taken")
	}
	c.listed(500, []Session{{}}, 0)
	if c.waiting || len(c.sessions) != 1 || !c.ended {
		t.Error("the part was not taken")
	}
	c.listed(500, []Session{{}, {}}, 0)
	if len(c.sessions) != 1 {
		t.Error("it was taken twice")
	}
}

// partHost lists its sessions in parts as they are given; an empty part need not be the last.
type partHost struct {
	silentHost
	parts [][]Session
	asked int
}

func (h *partHost) Walk(cursor uint64, _ int, reply func([]Session, uint64)) {
	h.asked++
	next := cursor + 1
	if next == uint64(len(h.parts)) {
		next = 0
	}
	reply(h.parts[cursor], next)
}

// A pass goes on at once behind a part without sessions: the patience with a host that does not answer is not for one
// that has answered.
func TestEmptyPartsDoNotHoldUpAPass(t *testing.T) {
	one := func(conn uint64) []Session { return []Session{{User: "u", Device: "d", ConnID: conn}} }
	for _, parts := range [][][]Session{{nil}, {nil, nil, one(1)}, {one(1), nil, one(2)}, {one(1), nil}, {nil, nil, nil}} {
		r, _ := newTestRegistrar(t)
		h := &partHost{parts: parts}
		r.host = h
		now := r.now()
		for range 10 * len(parts) {
			now = now.Add(time.Millisecond) // the pace of one session is a twentieth of it
			r.absorb()
			r.reconcileStep(context.Background(), now)
			r.flush(context.Background(), now)
		}
		if h.asked != len(parts) || !r.breaker.Trusted() {
			t.Errorf("%d parts: %d were asked for, and the table is %v", len(parts), h.asked, r.breaker.State)
		}
	}
}

// Each of these is found out by one call alone, when the others have not come yet.
func TestDoubts(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name  string
		lose  func(*Registrar, *Memory)
		visit func(*Registrar)
	}{
		{"the lease, by its renewal", func(r *Registrar, _ *Memory) { _ = r.table.Release(ctx) }, func(r *Registrar) { r.renew(ctx) }},
		{"the lease, by reading the leases", func(r *Registrar, _ *Memory) { _ = r.table.Release(ctx) }, func(r *Registrar) { r.look(ctx) }},
		{"a generation, by the renewal", func(_ *Registrar, m *Memory) { m.generations[5] = 0 }, func(r *Registrar) { r.renew(ctx) }},
		{"a generation, by a look-up", func(_ *Registrar, m *Memory) { m.generations[Bucket("alice")] = 0 },
			func(r *Registrar) {
				r.Find(ctx, []string{"alice"})
				r.keep(ctx, r.now())
			}},
	} {
		r, memory := trusting(t)
		tt.lose(r, memory)
		if tt.visit(r); r.breaker.Trusted() || r.ready() {
			t.Errorf("%s: the table is %v", tt.name, r.breaker.State)
		}
	}
	r, memory := newTestRegistrar(t)
	r.rec.ended = true
	memory.generations[5] = 0
	if r.conclude(ctx, r.now()); r.breaker.Trusted() {
		t.Error("a generation that changed during the pass was not noticed")
	}
}

// meanwhile is a table in which something happens during a look-up.
type meanwhile struct {
	Table
	do func()
}

func (m meanwhile) Lookup(ctx context.Context, users []string) (Lookup, error) {
	l, err := m.Table.Lookup(ctx, users)
	m.do()
	return l, err
}

// A look-up that is under way when a doubt comes up proves nothing.
func TestDoubtDuringALookUp(t *testing.T) {
	r, _ := trusting(t)
	users := []string{"alice"}
	if f := r.Find(context.Background(), users); !f.Proves("alice") {
		t.Fatal("nothing is proven")
	}
	r.table = meanwhile{r.table, func() { r.doubt("of the test") }}
	if f := r.Find(context.Background(), users); f.Proves("alice") {
		t.Error("it is proven by what is doubted")
	}
}

// What waits to be written is not missing; and when the table is given up, only removals wait on.
func TestWhatWaits(t *testing.T) {
	r, _ := trusting(t)
	alice, bob := Session{User: "alice", Device: "phone", ConnID: 1}, Session{User: "bob", Device: "phone", ConnID: 2}
	r.queue(work{op: opRegister, session: alice})
	r.queue(work{op: opRemove, session: bob})
	r.compare(context.Background(), []Session{alice})
	if !r.breaker.Trusted() || r.pending.conns[1].repair {
		t.Error("a session that waits was called missing")
	}
	for range suspectProbes {
		r.errored("nothing", ErrDegraded)
	}
	if r.breaker.State != Degraded || r.pending.has(1) || !r.pending.has(2) {
		t.Errorf("the table is %v, and of %d that wait the registration is %v", r.breaker.State, len(r.pending.conns), r.pending.has(1))
	}
}

// drive runs a Registrar by hand until nothing is left to do.
func drive(r *Registrar) {
	for range 40 {
		r.absorb()
		r.turn(context.Background())
		time.Sleep(gather)
	}
}

// there returns what the table has of a user.
func there(t *testing.T, r *Registrar, user string) []Record {
	t.Helper()
	l, err := r.table.Lookup(context.Background(), []string{user})
	if err != nil {
		t.Fatal(err)
	}
	return l.Records
}

// awaitsHost has a pass come to where it waits for the host.
func awaitsHost(r *Registrar) {
	r.reconcileAt = r.now()
	for !r.rec.waiting {
		r.reconcileStep(context.Background(), r.now())
	}
}

// A session ends between its loop's answer to a pass and the comparison, whether it was in the table or still waited: no
// record of it must come, and it is no reason to doubt.
func TestSessionEndsBehindTheWalk(t *testing.T) {
	for _, written := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := trusting(t)
			s := Session{User: "u", Device: "d", ConnID: 7, Order: 1, Started: time.Now(), Seen: time.Now()}
			r.Registered(s)
			if written {
				drive(r)
			}
			awaitsHost(r)
			lives := Session{User: "v", Device: "d", ConnID: 8, Order: 2, Started: time.Now(), Seen: time.Now()}
			r.Registered(lives)
			r.inbox.post(event{kind: walked, sessions: []Session{s, lives}})
			r.Removed("u", "d", 7)
			drive(r)
			if got := there(t, r, "u"); len(got) != 0 {
				t.Errorf("written %v: the table has %+v", written, got)
			}
			if n := r.counters.Doubts.Load() + r.counters.Repaired.Load(); n != 0 || !r.breaker.Trusted() || len(there(t, r, "v")) != 1 {
				t.Errorf("written %v: %d doubts and repairs, the table is %v", written, n, r.breaker.State)
			}
		})
	}
}

// What a session was like while the table was away is brought into it; and what a loop says behind its answer to a pass
// stands.
func TestSuspectFlagIsRepaired(t *testing.T) {
	for _, behind := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := trusting(t)
			s := Session{User: "u", Device: "d", ConnID: 7, Order: 1, Started: time.Now(), Seen: time.Now()}
			r.Registered(s)
			drive(r)
			changed := s
			changed.Suspect = true
			if behind {
				awaitsHost(r)
				r.inbox.post(event{kind: walked, sessions: []Session{s}})
				r.Refreshed(changed)
			} else {
				for range suspectProbes {
					r.errored("nothing", ErrDegraded)
				}
				r.Refreshed(changed)
				r.absorb()
				r.probe(context.Background())
				awaitsHost(r)
				r.inbox.post(event{kind: walked, sessions: []Session{changed}})
			}
			drive(r)
			if got := there(t, r, "u"); len(got) != 1 || !got[0].Suspect || !r.breaker.Trusted() {
				t.Errorf("behind the answer %v: the table has %+v and is %v", behind, got, r.breaker.State)
			}
		})
	}
}

// A refresh that waits is no registration: when it finds nothing, the pass waits for what it makes of it.
func TestPassWaitsForWhatARefreshMisses(t *testing.T) {
	r, _ := newTestRegistrar(t)
	s := Session{User: "u", Device: "d", ConnID: 7, Order: 1, Started: time.Now(), Seen: time.Now()}
	r.queue(work{op: opRefresh, session: s})
	r.compare(context.Background(), []Session{s})
	r.rec.mark, r.rec.ended = r.pending.end(), true
	now := time.Now()
	r.flush(context.Background(), now)
	if r.reconcileStep(context.Background(), now); r.breaker.Trusted() {
		t.Error("a session waits, and the lease says that there is none")
	}
	r.flush(context.Background(), now.Add(gather))
	if r.reconcileStep(context.Background(), now); !r.breaker.Trusted() || len(there(t, r, "u")) != 1 {
		t.Errorf("everything is written, and the table is %v", r.breaker.State)
	}
}

// A pass gives way to what waits already, so that what it finds cannot fill the queue before those who log in.
func TestPassGivesWayToWhatWaits(t *testing.T) {
	r, _ := newTestRegistrar(t)
	h := &partHost{parts: [][]Session{nil}}
	r.host, r.opts.Queue = h, 10
	for conn := range uint64(6) {
		r.queue(work{op: opRegister, session: Session{User: "u", Device: "d", ConnID: conn + 1}})
	}
	ctx, now := context.Background(), r.now()
	if r.reconcileStep(ctx, now); h.asked != 0 {
		t.Error("more than half of the queue waits, and the host is asked for more")
	}
	r.flush(ctx, now)
	if r.reconcileStep(ctx, now); h.asked != 1 {
		t.Error("nothing waits, and the host is not asked")
	}
}
