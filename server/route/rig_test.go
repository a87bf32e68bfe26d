package route_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/routetest"
)

const (
	ttl       = time.Hour
	lease     = route.DefaultLease
	patience  = 4 * lease // until a node that lapsed is taken for dead
	reconcile = 5 * time.Minute
)

// cluster is some nodes on one table in memory, in virtual time.
type cluster struct {
	*testing.T
	table *route.Memory
	nodes []*member
}

// member is one process of a node.
type member struct {
	*routetest.Node
	*routetest.Faults
	*route.Registrar
	self  route.Self
	stop  context.CancelFunc
	ended chan error
}

func bubble(t *testing.T, script func(*cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{T: t, table: route.NewMemory(nil)}
		t.Cleanup(func() {
			for _, m := range c.nodes {
				m.Dead(false)
				m.Hang(0)
				m.stop()
				<-m.ended
			}
		})
		script(c)
	})
}

// prepare makes a node that does not run yet.
func (c *cluster) prepare(self route.Self, change ...func(*route.Options)) *member {
	c.Helper()
	self.TTL = ttl
	if self.Directory == "" {
		self.Directory = "disk of " + self.Node
	}
	m := &member{Node: routetest.NewNode(), Faults: &routetest.Faults{Table: c.table.Table(self, nil)}, self: self,
		ended: make(chan error, 1)}
	o := route.Options{Table: m.Faults, Self: self, Host: m.Node, Epoch: "one", Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	var err error
	if m.Registrar, err = route.NewRegistrar(o); err != nil {
		c.Fatal(err)
	}
	m.Bind(m.Registrar)
	return m
}

func (c *cluster) run(m *member) {
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	c.nodes = append(c.nodes, m)
	go func() { m.ended <- m.Run(ctx) }()
	synctest.Wait()
}

// start makes a node and runs it.
func (c *cluster) start(name string, incarnation uint64, change ...func(*route.Options)) *member {
	c.Helper()
	m := c.prepare(route.Self{Node: name, Incarnation: incarnation}, change...)
	c.run(m)
	return m
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// settle lets nodes come to trust the table.
func settle() { pass(lease) }

// kill ends a process without a word: it can reach the table no more.
func (c *cluster) kill(m *member) {
	m.Dead(true)
	m.stop()
	if err := <-m.ended; err == nil {
		c.Error("a process that was killed has said goodbye")
	}
	m.ended <- nil
	synctest.Wait()
}

// says checks what a node knows, as "user: online|offline|unknown" in order.
func (c *cluster) says(m *member, want ...string) {
	c.Helper()
	var users []string
	for _, w := range want {
		user, _, _ := strings.Cut(w, ": ")
		users = append(users, user)
	}
	f := m.Find(context.Background(), users)
	got := make(map[string]string)
	online, offline, unknown := f.Route(users)
	for state, users := range map[string][]string{"online": online, "offline": offline, "unknown": unknown} {
		for _, u := range users {
			got[u] = u + ": " + state
		}
	}
	for i, w := range want {
		if got[users[i]] != w {
			c.Errorf("%s says %q, want %q (%v)", m.self.Node, got[users[i]], w, f.Err)
		}
	}
}

// records lists what the table has, as "user/device=node.incarnation/conn".
func (c *cluster) records() []string {
	c.Helper()
	t := c.table.Table(route.Self{Node: "judge", TTL: ttl}, nil)
	var all []string
	for at := ""; ; {
		s, err := t.Scan(context.Background(), at)
		if err != nil {
			c.Fatal(err)
		}
		for _, r := range s.Records {
			all = append(all, fmt.Sprintf("%s/%s=%s.%d/%d", r.User, r.Device, r.Node, r.Incarnation, r.ConnID))
		}
		if at = s.Next; at == "" {
			slices.Sort(all)
			return all
		}
	}
}

func (c *cluster) has(want ...string) {
	c.Helper()
	slices.Sort(want)
	if got := c.records(); !slices.Equal(got, want) {
		c.Errorf("the table has %q, want %q", got, want)
	}
}

func (c *cluster) is(m *member, want route.State) {
	c.Helper()
	if got := m.Counters().State(); got != want {
		c.Errorf("%s is %v, want %v", m.self.Node, got, want)
	}
}
