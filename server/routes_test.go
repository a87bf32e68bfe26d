package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/protocol"
	"lifeline/server/config"
	"lifeline/server/route"
	"lifeline/store"
	"lifeline/store/memstore"
)

// sharing has a node share a table with others.
func sharing(o *CoreOptions) {
	o.Routes = &RouteOptions{
		Self:  func() (route.Self, error) { return route.Self{Node: "a", Incarnation: 1, TTL: time.Hour}, nil },
		Table: func(self route.Self) (route.Table, error) { return route.NewMemory(nil).Table(self, nil), nil },
	}
}

// newSharingNode makes a node a that shares a table.
func newSharingNode(t *testing.T, table func(route.Self, func() time.Time) route.Table, log *slog.Logger) *Node {
	t.Helper()
	cfg := config.Default()
	cfg.Listen, cfg.HTTP, cfg.Store, cfg.Loops, cfg.MaxConnections = []string{"tcp4://" + freeListener(t)}, "", config.StoreMemory, 1, 100
	n, err := New(Options{Config: cfg, Metrics: metrics.NewSet(), Log: log,
		Open: func(sink store.Sink) (store.Store, error) { return memstore.New(memstore.Options{Sink: sink}), nil },
		Routes: &RouteOptions{
			Self:  func() (route.Self, error) { return route.Self{Node: "a", Incarnation: 1, TTL: time.Hour}, nil },
			Table: func(self route.Self) (route.Table, error) { return table(self, nil), nil },
		}})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// announced notes what leases said.
type announced struct {
	route.Table
	up, draining atomic.Bool
}

func (a *announced) Renew(ctx context.Context, lease route.Lease, ttl time.Duration) (bool, error) {
	held, err := a.Table.Renew(ctx, lease, ttl)
	if lease.State == route.NodeDraining {
		a.draining.Store(true)
	} else {
		a.up.Store(true)
	}
	return held, err
}

// TestAStoppingNodeSaysThatItDrains while clients are still there, and goodbye at the end.
func TestAStoppingNodeSaysThatItDrains(t *testing.T) {
	memory, said := route.NewMemory(nil), &announced{}
	n := newSharingNode(t, func(self route.Self, now func() time.Time) route.Table {
		said.Table = memory.Table(self, now)
		return said
	}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	eventually(t, "the node serves", n.serving.Load)
	if !said.up.Load() || said.draining.Load() {
		t.Error("it drains from the start")
	}
	n.within = time.Hour
	n.core.connections.Add(1) // a client that does not go
	cancel()
	eventually(t, "the lease says that the node drains", said.draining.Load)
	n.core.connections.Add(-1)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if l, err := memory.Table(route.Self{Node: "b"}, nil).Leases(t.Context()); err != nil || len(l.Live) != 0 || !l.Known[0].Released {
		t.Errorf("the leases are %+v, %v", l, err)
	}
}

// TestANodeWhoseIDIsTaken says what to do, serves nobody, and leaves the other's lease alone.
func TestANodeWhoseIDIsTaken(t *testing.T) {
	table := route.NewMemory(nil)
	other := table.Table(route.Self{Node: "a", Incarnation: 7, Directory: "another", TTL: time.Hour}, nil)
	if _, err := other.Renew(t.Context(), route.Lease{}, time.Hour); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	n := newSharingNode(t, table.Table, slog.New(slog.NewTextHandler(&log, nil)))
	if err := n.Run(t.Context()); !errors.Is(err, route.ErrNodeTaken) || !strings.Contains(err.Error(), "--node") {
		t.Errorf("it ended with: %v", err)
	}
	if log.Len() != 0 {
		t.Errorf("it was logged: %s", &log)
	}
	if l, err := other.Leases(t.Context()); err != nil || len(l.Live) != 1 || l.Live[0].Incarnation != 7 {
		t.Errorf("the leases are %+v, %v", l, err)
	}
}

// TestLoopsThatNobodyUsesDoNotHoldUpAPass: a real loop hears what is posted only once it has had a connection, and a
// pass over the sessions that waited for it would never end.
func TestLoopsThatNobodyUsesDoNotHoldUpAPass(t *testing.T) {
	r := newRig(t, sharing, func(o *CoreOptions) { o.Loops = 4 })
	for _, tt := range []struct {
		what    string
		prepare func()
		want    []string
	}{
		{"no session", func() {}, nil},
		{"one", func() { r.login(t, "bob", "phone") }, []string{"bob"}},
		{"two in parts", func() { r.login(t, "cid", "phone") }, []string{"bob", "cid"}},
	} {
		tt.prepare()
		var users []string
		ids := []uint64{1<<64 - 1}
		for cursor, ended := uint64(0), false; !ended; {
			answered := false
			r.core.Walk(cursor, 1, func(list []route.Session, next uint64) {
				answered, cursor, ended = true, next, next == 0
				for i := range list {
					users, ids = append(users, list[i].User), append(ids, list[i].ConnID)
				}
			})
			r.sh.Run()
			if !answered {
				t.Fatalf("%s: the walk is not answered", tt.what)
			}
		}
		if !slices.Equal(users, tt.want) {
			t.Errorf("%s: walked over %q, want %q", tt.what, users, tt.want)
		}
		answered := false
		r.core.Holds(ids, func(held []bool) {
			answered = true
			if held[0] || slices.Contains(held[1:], false) {
				t.Errorf("%s: holds %v of %v", tt.what, held, ids)
			}
		})
		r.sh.Run()
		if !answered {
			t.Errorf("%s: the question is not answered", tt.what)
		}
	}
}

// TestAClientThatChangesItsMindIsOneWrite: the registrar's queue is for all sessions.
func TestAClientThatChangesItsMindIsOneWrite(t *testing.T) {
	r := newRig(t, sharing)
	c := r.login(t, "bob", "phone")
	before, _ := r.core.routes.Queued()
	var burst []byte
	for range 500 {
		burst = (&protocol.State{Activity: protocol.Suspending}).Append(burst)
		burst = (&protocol.State{Activity: protocol.Foreground}).Append(burst)
	}
	r.sh.Traffic(c.s, burst)
	if got, _ := r.core.routes.Queued(); got != before+1 {
		t.Errorf("%d events for the registrar, want 1", got-before)
	}
	if now := r.sh.clock.Now(); r.sh.plan(c.s).Due > shortly(now) || r.sh.plan(c.s).RouteDue > shortly(now) {
		t.Errorf("the last word is not written before %v", r.sh.plan(c.s).RouteDue)
	}
}
