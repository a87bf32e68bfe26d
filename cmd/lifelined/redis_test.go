package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route/redistest"
)

// What the tests of a shared table take by hand: as production has it, for as long as the documentation says.
var (
	testLease    = flag.Duration("lease", 3*time.Second, "how long a node counts without a word from it")
	testOutage   = flag.Duration("outage", 4*time.Second, "how long Redis is away")
	testSessions = flag.Int("sessions", 2000, "sessions under which Redis is emptied, and that storm a node without Redis")
)

const leaseVariable = "LIFELINED_TEST_LEASE"

func init() {
	if d, err := time.ParseDuration(os.Getenv(leaseVariable)); err == nil {
		lease = d
	}
}

// member starts a node that shares a table.
func member(t testing.TB, name, redis string, args ...string) *node {
	t.Helper()
	return leaseholder(t, *testLease, name, redis, args...)
}

// longLease does not lapse, though a process or Redis stands still for seconds.
const longLease = time.Minute

// leaseholder is a member with a lease of its own.
func leaseholder(t testing.TB, lease time.Duration, name, redis string, args ...string) *node {
	t.Helper()
	args = append(args, "--redis", redis, "--node", name)
	return serve(t, "export "+leaseVariable+"="+lease.String(), args...)
}

// twins starts two nodes whose stores are copies of one another, so that each stores what its clients send, and both know
// the users: of one that it does not know a node would never say that he is offline.
func twins(t testing.TB, redis string, users ...string) (a, b *node) {
	t.Helper()
	dir := t.TempDir()
	seed := serve(t, "", "--store", "pebble", "--data-dir", dir+"/a")
	founder := login(t, seed.addr, "founder", "phone")
	for _, u := range users {
		if ack := founder.message(u, "hello"); ack.Status.Failed() {
			t.Fatalf("the first message to %s: %s", u, ack.AppendText(nil))
		}
	}
	seed.kill()
	if err := os.CopyFS(dir+"/b", os.DirFS(dir+"/a")); err != nil {
		t.Fatal(err)
	}
	return member(t, "a", redis, "--store", "pebble", "--data-dir", dir+"/a"),
		member(t, "b", redis, "--store", "pebble", "--data-dir", dir+"/b")
}

// until polls until a condition holds, also one that waits for a node to be taken for dead.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience + 8**testLease); !holds(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

var lastRequest atomic.Uint64

// await reads up to the next frame of a kind and acknowledges what is pushed meanwhile. It fails the test when the server
// ends the connection.
func await[T protocol.Frame](l *line) T {
	l.t.Helper()
	for {
		f := l.next()
		switch f := f.(type) {
		case *protocol.Push:
			l.send(&protocol.Ack{Pos: f.Entries[len(f.Entries)-1].Pos, HasPos: true})
		case *protocol.Close, *protocol.Error:
			if _, wanted := f.(T); !wanted {
				l.t.Fatalf("got %s", f.(interface{ AppendText([]byte) []byte }).AppendText(nil))
			}
		}
		if f, ok := f.(T); ok {
			return f
		}
	}
}

// message sends one and returns the answer.
func (l *line) message(to, text string) *protocol.Sendack {
	l.t.Helper()
	id := lastRequest.Add(1)
	l.send(&protocol.Send{ID: id, To: protocol.ToUser, ToID: []byte(to), ClientID: fmt.Append(nil, id), Payload: []byte(text)})
	return await[*protocol.Sendack](l)
}

// receive reads until a message has come.
func (l *line) receive(text string) {
	l.t.Helper()
	for {
		f := await[*protocol.Push](l)
		for i := range f.Entries {
			if string(f.Entries[i].Message.Payload) == text {
				return
			}
		}
	}
}

// answer reads up to what answers a request, which is nil when the server was too busy to answer it in time.
func answer[T protocol.Frame](l *line) (got T) {
	l.t.Helper()
	for {
		switch f := l.next().(type) {
		case T:
			return f
		case *protocol.Error:
			if f.Status.Code != protocol.CodeBusy {
				l.t.Fatalf("got %s", f.AppendText(nil))
			}
			return got
		case *protocol.Close:
			l.t.Fatalf("got %s", f.AppendText(nil))
		}
	}
}

// presence asks for users, again if the server was stopped for so long that it had no time for the answer.
func (l *line) presence(users ...string) (list *protocol.PresenceList) {
	l.t.Helper()
	f := &protocol.Presence{}
	for _, u := range users {
		f.Users = append(f.Users, []byte(u))
	}
	eventually(l.t, "a Presence is answered", func() bool {
		f.ID = lastRequest.Add(1)
		l.send(f)
		if list = answer[*protocol.PresenceList](l); list == nil {
			l.busy++
		}
		return list != nil
	})
	if list.ID != f.ID || list.More {
		l.t.Fatalf("got %s", list.AppendText(nil))
	}
	return list
}

// ask returns what the node says of users.
func (l *line) ask(users ...string) map[string]protocol.PresenceState {
	l.t.Helper()
	list := l.presence(users...)
	states := make(map[string]protocol.PresenceState)
	for i := range list.Users {
		states[string(list.Users[i].User)] = list.Users[i].State
	}
	return states
}

func (l *line) says(user string, want protocol.PresenceState) bool {
	l.t.Helper()
	return l.ask(user)[user] == want
}

// leave says goodbye.
func (l *line) leave() {
	l.t.Helper()
	l.send(&protocol.Bye{})
	for {
		if _, err := readFrame(l.r); err != nil {
			return
		}
	}
}

// metric returns the sum of what a node exports under a name, or under one full name with labels.
func (n *node) metric(name string) (sum float64) {
	n.t.Helper()
	res, err := http.Get("http://" + n.http + "/metrics")
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	found := false
	for line := range strings.Lines(string(text)) {
		full, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if base, _, _ := strings.Cut(full, "{"); full != name && base != name {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			n.t.Fatal(err)
		}
		found, sum = true, sum+v
	}
	if !found {
		n.t.Fatalf("%s is not exported", name)
	}
	return sum
}

func (n *node) healthy() bool { return n.metric(`lifeline_route_breaker_state{state="healthy"}`) == 1 }

// healthy waits until both nodes believe the table.
func healthy(t testing.TB, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		until(t, "the table is whole", n.healthy)
	}
}

// TestTwoNodesAreNoCluster: with stores of different histories, two nodes give presence and displacement across each
// other, and nothing that is sent is stored.
func TestTwoNodesAreNoCluster(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	a, b := leaseholder(t, longLease, "a", redis.Addr()), leaseholder(t, longLease, "b", redis.Addr())
	ann, bob := login(t, a.addr, "ann", "phone"), login(t, b.addr, "bob", "phone")
	until(t, "ann sees bob", func() bool { return ann.says("bob", protocol.Online) })
	until(t, "bob sees ann", func() bool { return bob.says("ann", protocol.Online) })

	for _, tt := range []struct {
		from *line
		to   string
	}{{ann, "bob"}, {bob, "ann"}, {login(t, a.addr, "cid", "phone"), "nobody"}} {
		until(t, "the other store is known", func() bool {
			ack := tt.from.message(tt.to, "x")
			return ack.Status.Code == protocol.CodeNotHere && ack.Status.Retry == protocol.RetryAfter
		})
	}
	for _, n := range []*node{a, b} {
		for _, user := range []string{"ann", "bob", "cid", "nobody"} {
			if head := headOf(t, n, user); head != 0 {
				t.Errorf("%d entries are stored for %s", head, user)
			}
		}
	}
}

// headOf returns the head of a user's inbox on a node, by a device of his own.
func headOf(t testing.TB, n *node, user string) uint64 {
	t.Helper()
	l := dial(t, n.addr)
	l.send(connect(user, "another"))
	return await[*protocol.Connack](l).Head
}

func TestDisplacementAcrossProcesses(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	a, b := member(t, "a", redis.Addr()), member(t, "b", redis.Addr())
	healthy(t, a, b)
	enter := func(n *node, instance, attempt uint64) *line {
		l := dial(t, n.addr)
		f := connect("bob", "phone")
		f.Instance, f.Attempt = instance, attempt
		l.send(f)
		await[*protocol.Connack](l)
		return l
	}
	registered := func(n *node) func() bool {
		before := n.metric(`lifeline_route_writes_total{what="registered"}`)
		return func() bool { return n.metric(`lifeline_route_writes_total{what="registered"}`) > before }
	}
	written := registered(a)
	first := enter(a, 7, 1)
	until(t, "the first is in the table", written)
	second := enter(b, 8, 1)
	if c := await[*protocol.Close](first); c.Status.Code != protocol.CodeDisplaced || c.Status.Retry != protocol.RetryStop {
		t.Fatalf("another process on another node: %s", c.AppendText(nil))
	}
	second.ping()
	third := enter(a, 8, 2)
	if c := await[*protocol.Close](second); c.Status.Code != protocol.CodeSuperseded || c.Status.Retry != protocol.RetryIgnore {
		t.Fatalf("the same process on another node: %s", c.AppendText(nil))
	}
	third.ping()
	until(t, "one session is left", func() bool {
		return a.metric("lifeline_sessions") == 1 && b.metric("lifeline_sessions") == 0
	})
}

// TestKillOfANode: a killed node's routes stop counting with its lease. Its users are unknown until it is taken for
// dead, and offline from then on; who has come back elsewhere stays online.
func TestKillOfANode(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	a, b := twins(t, redis.Addr(), "bob", "dan")
	healthy(t, a, b)
	ann := login(t, a.addr, "ann", "phone")
	login(t, b.addr, "bob", "phone")
	login(t, b.addr, "dan", "phone")
	until(t, "both are seen", func() bool { return ann.says("bob", protocol.Online) && ann.says("dan", protocol.Online) })
	b.kill()
	killed := time.Now()
	c := member(t, "c", redis.Addr(), "--store", "memory")
	dan := login(t, c.addr, "dan", "phone")

	// A renewal that was on its way is done after the kill, or never: no later than a node waits for it.
	counts, dead := *testLease+400*time.Millisecond, 3**testLease
	last := protocol.Online
	until(t, "bob is offline", func() bool {
		asked := time.Since(killed)
		state := ann.ask("bob")["bob"]
		if state != last {
			last = state
			t.Logf("bob is %v after %v", state, time.Since(killed).Round(10*time.Millisecond))
		}
		switch {
		case state == protocol.Online && asked > counts:
			t.Fatalf("bob counts %v after his node was killed", asked)
		case state == protocol.Offline && time.Since(killed) < dead:
			t.Fatalf("bob is offline %v after his node was killed: it might live", time.Since(killed))
		}
		return state == protocol.Offline
	})
	until(t, "the orphan is removed", func() bool {
		return a.metric("lifeline_routes_orphaned_total")+c.metric("lifeline_routes_orphaned_total") >= 1
	})
	until(t, "dan is online, and bob is not", func() bool {
		got := ann.ask("dan", "bob")
		if got["dan"] == protocol.Offline || got["bob"] == protocol.Online {
			t.Fatalf("after the clean-up: %v", got)
		}
		return got["dan"] == protocol.Online && got["bob"] == protocol.Offline
	})
	dan.ping()
}

// TestRestartOfANode: the same directory brings a new incarnation, which proves that the old one is dead.
func TestRestartOfANode(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	dir := t.TempDir()
	a := member(t, "a", redis.Addr(), "--store", "memory")
	b := member(t, "b", redis.Addr(), "--store", "pebble", "--data-dir", dir)
	healthy(t, a, b)
	ann := login(t, a.addr, "ann", "phone")
	login(t, b.addr, "bob", "phone")
	login(t, b.addr, "dan", "phone")
	until(t, "both are seen", func() bool { return ann.says("bob", protocol.Online) && ann.says("dan", protocol.Online) })
	b.kill()
	b = member(t, "b", redis.Addr(), "--store", "pebble", "--data-dir", dir)
	dan := login(t, b.addr, "dan", "phone")
	until(t, "dan is in the table", func() bool { return b.metric(`lifeline_route_writes_total{what="registered"}`) >= 1 })
	until(t, "dan is back", func() bool { return ann.says("dan", protocol.Online) })
	if ann.says("bob", protocol.Online) {
		t.Error("bob counts under an incarnation that is dead")
	}
	dan.ping()
}
