package redisroute

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/routetest"
)

// shortLease keeps tests short; everything a Registrar does follows it.
const shortLease = 1500 * time.Millisecond

// member is one process of a node on a real table.
type member struct {
	*routetest.Node
	*route.Registrar
	tb    testing.TB
	self  route.Self
	table *Table
	kill  func() // ends it without a word
}

// mute is a table on which a process cannot say goodbye.
type mute struct{ route.Table }

func (mute) Release(context.Context) error { return errors.New("killed") }

// start runs a node. Odd and even incarnations have clocks ten seconds apart.
func start(tb testing.TB, o Options, name string, incarnation uint64, change ...func(*route.Options)) *member {
	tb.Helper()
	skew := 5 * time.Second
	if incarnation%2 == 0 {
		skew = -skew
	}
	now := func() time.Time { return time.Now().Add(skew) }
	o.Self = route.Self{Node: name, Incarnation: incarnation, Directory: "disk of " + name, TTL: time.Hour}
	o.Now = now
	table, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	m := &member{Node: routetest.NewNode(), tb: tb, self: o.Self, table: table}
	m.Node.Now = now
	ro := route.Options{Table: mute{table}, Self: o.Self, Host: m.Node, Epoch: "one", Lease: shortLease, Now: now,
		Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&ro)
	}
	if m.Registrar, err = route.NewRegistrar(ro); err != nil {
		tb.Fatal(err)
	}
	m.Bind(m.Registrar)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = m.Run(ctx) // it cannot say goodbye, or was taken: either way it has ended
	}()
	m.kill = func() {
		cancel()
		<-ended
		_ = table.Close()
	}
	tb.Cleanup(m.kill)
	return m
}

// crowd opens sessions of users that stay, and names a few.
func crowd(m *member, n int) (some []string) {
	for i := range n {
		user := fmt.Sprintf("%s %d", m.self.Node, i)
		m.Open(user, "phone", uint64(i+1), 1, 0)
		if i%(n/20+1) == 0 {
			some = append(some, user)
		}
	}
	return some
}

// says is what a node knows of a user.
func (m *member) says(user string) string {
	f := m.Find(context.Background(), []string{user})
	online, offline, _ := f.Route([]string{user})
	switch {
	case len(online) > 0:
		return "online"
	case len(offline) > 0:
		return "offline"
	default:
		return "unknown"
	}
}

func (m *member) eventually(user, state string) {
	m.tb.Helper()
	routetest.Eventually(m.tb, fmt.Sprintf("%s says that %s is %s", m.self.Node, user, state), func() bool { return m.says(user) == state })
}

func (m *member) until(s route.State) {
	m.tb.Helper()
	routetest.Eventually(m.tb, fmt.Sprintf("%s is %v", m.self.Node, s), func() bool { return m.Counters().State() == s })
}

// neverOffline asks all the time, until a condition holds, and fails when anybody calls one of the users offline.
func neverOffline(tb testing.TB, what string, users []string, holds func() bool, nodes ...*member) {
	tb.Helper()
	routetest.Eventually(tb, what, func() bool {
		for _, m := range nodes {
			f := m.Find(context.Background(), users)
			if _, offline, _ := f.Route(users); len(offline) > 0 {
				tb.Fatalf("until %s: %s says that %q are offline", what, m.self.Node, offline)
			}
		}
		return holds()
	})
}

// records lists the keys in the table.
func records(tb testing.TB, o Options) (keys []route.Key) {
	tb.Helper()
	o.Self, o.Timeout = route.Self{Node: "judge", TTL: time.Hour}, unhurried
	table, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	defer table.Close()
	for at := ""; ; {
		s, err := table.Scan(context.Background(), at)
		if err != nil {
			tb.Fatal(err)
		}
		for _, r := range s.Records {
			if !slices.Contains(keys, r.Key()) {
				keys = append(keys, r.Key())
			}
		}
		if at = s.Next; at == "" {
			return keys
		}
	}
}
