package redisroute

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/redistest"
	"lifeline/server/route/routetest"
)

// outage is how long a fault lasts, at least: longer than a lease.
const outage = shortLease + time.Second/2

// scene is two nodes on a server, behind a line of each node's own.
type scene struct {
	server *redistest.Server
	a, b   *member
	lines  [2]*redistest.Proxy
}

func TestFaults(t *testing.T) {
	const sessions = 1000
	for _, tt := range []struct {
		name            string
		strike, recover func(*scene)
		reads           bool // reading goes on
	}{
		{"killed", func(s *scene) { s.server.Kill() }, func(s *scene) { s.server.Restart() }, false},
		{"stopped", func(s *scene) { s.server.Stop() }, func(s *scene) { s.server.Continue() }, false},
		{"slow", func(s *scene) { s.slow(500 * time.Millisecond) }, func(s *scene) { s.slow(0) }, false},
		{"out of memory", func(s *scene) { s.server.Do("CONFIG", "SET", "maxmemory", "1") },
			func(s *scene) { s.server.Do("CONFIG", "SET", "maxmemory", "0") }, true},
		{"read only", func(s *scene) { s.server.Do("REPLICAOF", "127.0.0.1", "1") },
			func(s *scene) { s.server.Do("REPLICAOF", "NO", "ONE") }, true},
		{"emptied", func(s *scene) { s.server.Do("FLUSHALL") }, func(*scene) {}, true},
		{"lines cut", func(s *scene) { s.cut() }, func(*scene) {}, true},
		{"scripts forgotten", func(s *scene) { s.server.Do("SCRIPT", "FLUSH") }, func(*scene) {}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			stay := append(crowd(s.a, sessions), crowd(s.b, sessions)...)
			gone := s.a.Open("gone", "phone", 1, 1, 0)
			s.b.eventually("nobody", "offline")
			s.b.eventually("gone", "online")

			tt.strike(s)
			s.a.Open("new", "phone", 1, 1, 0)
			s.a.Close(gone)
			began := time.Now()
			neverOffline(t, "the fault has lasted", stay, func() bool { return time.Since(began) > outage }, s.a, s.b)
			if !tt.reads {
				s.a.until(route.Degraded)
				s.b.eventually(stay[0], "unknown")
			}
			tt.recover(s)
			stay = append(stay, "new")
			neverOffline(t, "the table is whole again", stay, func() bool {
				return s.a.says("nobody") == "offline" && s.b.says("nobody") == "offline"
			}, s.a, s.b)

			for _, user := range stay {
				s.a.eventually(user, "online")
			}
			s.b.eventually("gone", "offline")
			if s.a.Live() != sessions+1 || s.b.Live() != sessions {
				t.Errorf("%d and %d sessions live", s.a.Live(), s.b.Live())
			}
			if n := len(records(t, Options{Addrs: []string{s.server.Addr()}})); n != 2*sessions+1 {
				t.Errorf("%d records", n)
			}
		})
	}
}

func newScene(t *testing.T) *scene {
	s := &scene{server: redistest.Start(t)}
	for i, m := range []**member{&s.a, &s.b} {
		s.lines[i] = redistest.StartProxy(t, s.server.Addr())
		*m = start(t, Options{Addrs: []string{s.lines[i].Addr()}}, string(rune('a'+i)), uint64(i+1))
	}
	return s
}

func (s *scene) slow(d time.Duration) {
	for _, l := range s.lines {
		l.Slow(d)
	}
}

func (s *scene) cut() {
	for _, l := range s.lines {
		l.Cut()
	}
}

// A command that was given up waits in the stopped server, which runs it when it goes on, before or after what was sent
// since. A session that has ended meanwhile must not come back with it, nor a lease say what its node has taken back.
func TestCommandsThatWereGivenUpAreNotAppliedLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o, self := Options{Addrs: []string{server.Addr()}}, route.Self{Node: "a", Incarnation: 1, TTL: time.Hour}
	table := world{options: o}.Open(t, self, time.Now)
	o.Timeout = time.Second
	hasty := world{options: o}.Open(t, self, time.Now)
	ctx := context.Background()
	stays := route.Session{User: "stays", Device: "phone", ConnID: 1, Started: time.Now(), Seen: time.Now()}
	suspect, ended := stays, stays
	suspect.Suspect, ended.User = true, "has ended"
	var lease route.Lease
	generations, err := table.Generations(ctx)
	if err != nil {
		t.Fatal(err)
	}
	lease.Generations = generations

	routetest.Eventually(t, "the node has its lease, and knows the server's time", func() bool {
		_, err := hasty.Renew(ctx, route.Lease{}, time.Minute)
		return err == nil
	})
	if _, err := table.Register(ctx, []route.Session{stays}); err != nil {
		t.Fatal(err)
	}
	connected := func() (n int) {
		if _, err := fmt.Sscan(server.Info("clients", "connected_clients"), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, call := range []func() error{
		func() error { _, err := hasty.Register(ctx, []route.Session{ended}); return err },
		func() error { _, err := hasty.Refresh(ctx, []route.Session{suspect}); return err },
		func() error { _, err := hasty.Renew(ctx, lease, time.Minute); return err },
	} {
		routetest.Eventually(t, "there is a line to send on", func() bool {
			_, err := hasty.Generations(ctx)
			return err == nil
		})
		lines := connected()
		server.Stop()
		if err := call(); err == nil {
			t.Fatal("a stopped server has answered")
		}
		server.Continue()
		routetest.Eventually(t, "the server has run what waited, and closed the line", func() bool {
			return connected() < lines
		})
	}

	l, err := table.Lookup(ctx, []string{"stays", "has ended"})
	if err != nil || len(l.Records) != 1 || l.Records[0].Suspect {
		t.Errorf("the table has %+v, %v", l.Records, err)
	}
	leases, err := table.Leases(ctx)
	if err != nil || leases.Live[0].Generations != (route.Generations{}) {
		t.Errorf("the lease is %+v, %v", leases.Live, err)
	}
	if outcomes, err := table.Register(ctx, []route.Session{ended}); err != nil || outcomes[0] != route.Created {
		t.Errorf("afterwards: %v, %v", outcomes[0], err)
	}
}

// A command is given up when it is as old as its sender waits, or a little older, and both times are cut to milliseconds: one
// that is just so old by them may have been given up.
func TestWhatIsAsOldAsThePatienceIsLate(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, tt := range []struct {
		sent int
		want string
	}{{0, ""}, {1001, ""}, {1000, "1"}, {999, "1"}, {1, "1"}} {
		text := source("prelude") + fmt.Sprintf("return late(1400, %d, 400)", tt.sent)
		if got := server.Do("EVAL", text, "0"); got != tt.want {
			t.Errorf("sent at %d: %q, want %q", tt.sent, got, tt.want)
		}
	}
}

// The server's clock is set forward: every command is too late by what was known of it, and is sent again.
func TestServersClockIsSet(t *testing.T) {
	server := redistest.Start(t)
	o := Options{Addrs: []string{server.Addr()}, Timeout: unhurried}
	o.Self = route.Self{Node: "a", Incarnation: 1, TTL: time.Hour}
	table, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	s := route.Session{User: "alice", Device: "phone", ConnID: 1, Started: time.Now(), Seen: time.Now()}
	for _, set := range []time.Duration{0, -time.Hour, time.Hour} {
		for place := range table.clocks.places {
			table.clocks.places[place] = reading{time.Now().Add(-set).UnixMilli(), time.Now()}
		}
		if outcomes, err := table.Register(context.Background(), []route.Session{s}); err != nil || outcomes[0].Refused() != 0 {
			t.Errorf("set by %v: %v, %v", set, outcomes, err)
		}
		l, err := table.Lookup(context.Background(), []string{"alice"})
		if err != nil || len(l.Records) != 1 {
			t.Fatalf("set by %v: %+v, %v", set, l, err)
		}
		if age := l.Now.Sub(l.Records[0].LastSeen); age < 0 || age > time.Minute {
			t.Errorf("set by %v: seen %v ago", set, age)
		}
	}
}

// A device that logs in on another node after it was registered on the first has come later, however long answers were on
// their way to either node, which is what their estimates of the server's clock are behind by.
func TestWhoComesLaterWins(t *testing.T) {
	server := redistest.Start(t)
	for _, behind := range [][2]time.Duration{{0, 0}, {0, time.Second}, {time.Second, 0}} {
		var tables [2]*Table
		for i := range tables {
			o := Options{Addrs: []string{server.Addr()}, Timeout: unhurried}
			o.Self = route.Self{Node: string(rune('a' + i)), Incarnation: 1, TTL: time.Hour}
			table, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer table.Close()
			for place := range table.clocks.places {
				table.clocks.places[place] = reading{time.Now().Add(-behind[i]).UnixMilli(), time.Now()}
			}
			tables[i] = table
		}
		user := fmt.Sprint("alice ", behind)
		for i, wanted := range []route.Outcome{route.Created, route.TookOver} {
			s := route.Session{User: user, Device: "phone", ConnID: 1, Instance: uint64(i + 1), Started: time.Now(), Seen: time.Now()}
			if outcomes, err := tables[i].Register(t.Context(), []route.Session{s}); err != nil || outcomes[0] != wanted {
				t.Errorf("clocks behind by %v, number %d: %v, %v", behind, i+1, outcomes, err)
			}
		}
	}
}

func TestKilledNode(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := Options{Addrs: []string{server.Addr()}}
	often := func(o *route.Options) { o.ReconcileEvery = 2 * time.Second }
	a, b := start(t, o, "a", 1, often), start(t, o, "b", 2, often)
	a.Open("alice", "phone", 1, 1, 0)
	a.Open("dora", "phone", 1, 1, 0)
	b.eventually("alice", "online")
	b.eventually("nobody", "offline")
	a.kill()
	neverOffline(t, "the lease has lapsed", []string{"alice", "dora"}, func() bool { return b.says("alice") == "unknown" }, b)

	next := start(t, o, "a", 3, often)
	conn := next.Open("alice", "phone", 1, 2, 0)
	b.eventually("alice", "online")
	b.eventually("dora", "offline")
	routetest.Eventually(t, "the scan removes what the dead process has left", func() bool {
		keys := records(t, o)
		return len(keys) == 1 && keys[0] == next.self.Key("alice", "phone", conn)
	})
}

// Sentinel makes the replica the master. What the old master had not passed on is lost, and no generation tells.
func TestFailover(t *testing.T) {
	t.Parallel()
	sentinel, master, replica := redistest.StartSentinel(t, "main")
	o := Options{Addrs: []string{sentinel}, Master: "main"}
	a, b := start(t, o, "a", 1), start(t, o, "b", 2)
	stay := append(crowd(a, 500), crowd(b, 500)...)
	b.eventually("nobody", "offline")
	master.Kill()
	neverOffline(t, "the replica is the master", stay, func() bool {
		answer, err := replica.Try("ROLE") // its lines are cut at the change
		return err == nil && strings.HasPrefix(answer, "master")
	}, a, b)
	neverOffline(t, "the table is whole again", stay, func() bool { return a.says("nobody") == "offline" && b.says("nobody") == "offline" }, a, b)
	if n := len(records(t, Options{Addrs: []string{replica.Addr()}})); n != 1000 {
		t.Errorf("%d records", n)
	}
}

func TestClusterLosesAServer(t *testing.T) {
	t.Parallel()
	w := startCluster(t)
	a, b := start(t, w.options, "a", 1), start(t, w.options, "b", 2)
	stay := append(crowd(a, 1000), crowd(b, 1000)...)
	b.eventually("nobody", "offline")
	w.servers[1].Kill()
	neverOffline(t, "a has noticed", stay, func() bool { return a.Counters().State() == route.Degraded }, a, b)
	w.servers[1].Restart()
	neverOffline(t, "the table is whole again", stay, func() bool { return a.says("nobody") == "offline" && b.says("nobody") == "offline" }, a, b)
	if n := len(records(t, w.options)); n != 2000 {
		t.Errorf("%d records", n)
	}
}
