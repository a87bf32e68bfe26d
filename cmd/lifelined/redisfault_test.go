package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route/redistest"
)

// fault is something that happens to Redis, and its end.
type fault struct {
	name       string
	begin, end func(*redistest.Server, *redistest.Proxy)
}

var faults = []fault{
	{"killed", func(s *redistest.Server, _ *redistest.Proxy) { s.Kill() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Restart() }},
	{"stopped", func(s *redistest.Server, _ *redistest.Proxy) { s.Stop() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Continue() }},
	{"slow", func(_ *redistest.Server, p *redistest.Proxy) { p.Slow(500 * time.Millisecond) }, func(_ *redistest.Server, p *redistest.Proxy) { p.Slow(0) }},
	{"out of memory",
		func(s *redistest.Server, _ *redistest.Proxy) {
			s.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
			s.Do("CONFIG", "SET", "maxmemory", "1")
		},
		func(s *redistest.Server, _ *redistest.Proxy) { s.Do("CONFIG", "SET", "maxmemory", "0") }},
	{"read-only",
		func(s *redistest.Server, _ *redistest.Proxy) { s.Do("REPLICAOF", "127.0.0.1", "1") },
		func(s *redistest.Server, _ *redistest.Proxy) { s.Do("REPLICAOF", "NO", "ONE") }},
}

// TestFaultsOfRedis: whatever Redis does, no connection ends, messages between sessions of a node arrive, and a user
// who is or may be elsewhere is never called offline, neither meanwhile nor while Redis comes back; then all is as
// before, with who came and went meanwhile.
func TestFaultsOfRedis(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			proxy := redistest.StartProxy(t, redis.Addr())
			w := newWorld(t, proxy.Addr())
			f.begin(redis, proxy)
			begun := time.Now()
			until(t, "both nodes have noticed", func() bool {
				w.check("ben")
				return !w.a.healthy() && !w.b.healthy()
			})
			t.Logf("noticed after %v", time.Since(begun).Round(10*time.Millisecond))
			eve := w.login(w.b, "eve")
			w.logout("gus")
			until(t, "users elsewhere are unknown, for as long as it lasts", func() bool {
				got := w.check("ben", "eve", "cid", "gus")
				return time.Since(begun) >= *testOutage && !slices.ContainsFunc([]string{"ben", "eve", "cid", "gus"},
					func(u string) bool { return got[u] != protocol.PresenceUnknown })
			})
			f.end(redis, proxy)
			ended := time.Now()
			until(t, "who is elsewhere is online again", func() bool {
				got := w.check("ben", "eve")
				return got["ben"] == protocol.Online && got["eve"] == protocol.Online
			})
			until(t, "who has left is offline", func() bool {
				w.check("ben", "eve")
				return w.ann.says("gus", protocol.Offline) && w.ann.says("cid", protocol.Offline)
			})
			t.Logf("whole %v after the end", time.Since(ended).Round(10*time.Millisecond))
			w.check("ben", "eve")
			eve.ping()
			w.unharmed()
		})
	}
}

// TestAClusterLosesAServer: the table is in a Redis Cluster of three servers, of which one is killed and comes back empty.
func TestAClusterLosesAServer(t *testing.T) {
	t.Parallel()
	servers := redistest.StartCluster(t)
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.Addr())
	}
	w := newWorld(t, strings.Join(addrs, ","))
	servers[1].Kill()
	until(t, "both nodes have noticed", func() bool {
		w.check("ben", "gus")
		return !w.a.healthy() && !w.b.healthy()
	})
	until(t, "users elsewhere are unknown", func() bool {
		got := w.check("ben", "gus", "cid", "eve")
		return got["ben"] == protocol.PresenceUnknown && got["cid"] == protocol.PresenceUnknown
	})
	servers[1].Restart()
	until(t, "who is elsewhere is online again", func() bool {
		got := w.check("ben", "gus")
		return got["ben"] == protocol.Online && got["gus"] == protocol.Online
	})
	until(t, "who is nowhere is offline", func() bool {
		w.check("ben", "gus")
		return w.ann.says("cid", protocol.Offline) && w.ann.says("eve", protocol.Offline)
	})
	w.unharmed()
}

// world is two nodes with a few clients: ann and amy on one; ben and gus on the other; cid, whom both know, on neither.
type world struct {
	t        testing.TB
	a, b     *node
	ann, amy *line
	others   map[string]*line
	messages int
	logins   float64
}

func newWorld(t testing.TB, redis string) *world {
	t.Helper()
	a, b := twins(t, redis, "ben", "cid", "eve", "gus")
	w := &world{t: t, a: a, b: b, others: make(map[string]*line)}
	healthy(t, a, b)
	w.ann, w.amy = w.login(a, "ann"), w.login(a, "amy")
	w.login(b, "ben")
	w.login(b, "gus")
	until(t, "the table is whole", func() bool {
		got := w.ann.ask("ben", "gus", "cid", "eve")
		return got["ben"] == protocol.Online && got["gus"] == protocol.Online && got["cid"] == protocol.Offline && got["eve"] == protocol.Offline
	})
	return w
}

func (w *world) login(n *node, user string) *line {
	w.t.Helper()
	l := dial(w.t, n.addr)
	l.send(connect(user, "phone"))
	await[*protocol.Connack](l)
	w.others[user] = l
	w.logins++
	return l
}

func (w *world) logout(user string) {
	w.t.Helper()
	w.others[user].leave()
	delete(w.others, user)
	w.logins--
}

// check looks once at everything that must always hold, and returns what ann's node says of users of whom it must not
// say that they are offline.
func (w *world) check(elsewhere ...string) map[string]protocol.PresenceState {
	w.t.Helper()
	got := w.ann.ask(append(elsewhere, "amy")...)
	for user, state := range got {
		if state == protocol.Offline {
			w.t.Fatalf("%s is said to be offline", user)
		}
	}
	if got["amy"] != protocol.Online {
		w.t.Fatalf("amy, on the same node, is %v", got["amy"])
	}
	w.messages++
	text := fmt.Sprint("message ", w.messages)
	if ack := w.ann.message("amy", text); ack.Status.Failed() {
		w.t.Fatalf("a message between two users of a node: %s", ack.AppendText(nil))
	}
	w.amy.receive(text)
	for _, l := range w.others {
		l.ping()
	}
	return got
}

// unharmed checks that no session has ended but those that were to.
func (w *world) unharmed() {
	w.t.Helper()
	if n := w.a.metric("lifeline_sessions") + w.b.metric("lifeline_sessions"); n != w.logins {
		w.t.Errorf("%v sessions, want %v", n, w.logins)
	}
	if n := w.a.metric("lifeline_panics_total") + w.b.metric("lifeline_panics_total"); n != 0 {
		w.t.Errorf("%v panics", n)
	}
}
