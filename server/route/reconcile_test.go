package route

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// silentHost has no sessions and answers nothing.
type silentHost struct{}

func (silentHost) Walk(uint64, int, func([]Session, uint64)) {}
func (silentHost) Holds([]uint64, func([]bool))              {}
func (silentHost) Displaced(uint64, Verdict)                 {}

// newTestRegistrar returns one that is not run, with a probe that has gone through.
func newTestRegistrar(t *testing.T) *Registrar {
	self := Self{Node: "a", Incarnation: 1, TTL: time.Hour}
	r, err := NewRegistrar(Options{Table: NewMemory(nil).Table(self, nil), Self: self, Host: silentHost{}, Settle: -1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r.probe(context.Background())
	return r
}

// A doubt that comes up in the turn in which a pass would end: the lease must not say that everything is there.
func TestDoubtInTheLastTurn(t *testing.T) {
	r := newTestRegistrar(t)
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
	r, ctx := newTestRegistrar(t), context.Background()
	now := time.Now()
	for i := range uint64(MaxBatch + 1) {
		r.queue(work{op: opRegister, session: Session{ConnID: i + 1, Started: now, Seen: now}})
	}
	r.rec.mark, r.rec.ended = r.pending.end(), true
	r.flush(ctx, now)
	if r.reconcileStep(ctx, now); r.breaker.Trusted() {
		t.Error("a session waits, and the lease says that there is none")
	}
	r.flush(ctx, now)
	if r.reconcileStep(ctx, now); !r.breaker.Trusted() {
		t.Errorf("everything is written, and the table is %v", r.breaker.State)
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
