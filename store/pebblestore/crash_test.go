package pebblestore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"lifeline/store"
	"lifeline/store/commit"
	"lifeline/store/storetest"
)

const (
	crashesInOne  = 80 // of one run of a store
	crashedUsers  = 6
	crashDeadline = 2 * time.Minute // for what must come
)

// TestCrashPoints cuts the power before random operations of the filesystem, with a random part of what was not synced,
// and looks at what is left: every acknowledged send, once, no hole, heads whole, no cursor ahead. Every other run goes
// on from one of the crashes before.
func TestCrashPoints(t *testing.T) {
	points := crashPoints
	if testing.Short() {
		points /= 10
	}
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	last := newCrash()
	var looked sync.WaitGroup
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	for run, seen := 0, 0; seen < points; run++ {
		from := last
		if run%2 == 0 {
			from = newCrash()
		}
		for _, c := range runUntilCrashes(t, from, random) {
			last = c.again(random)
			seen++
			toTheEnd := seen%8 == 0
			room <- struct{}{}
			looked.Go(func() {
				defer func() { <-room }()
				c.look(t, toTheEnd)
			})
		}
		if t.Failed() {
			break
		}
	}
	looked.Wait()
}

// promise is an answer that a caller got.
type promise struct {
	send   *store.Send
	answer store.Answer
}

// crash is what a power cut left, and what was promised before it.
type crash struct {
	fs       *memDisk
	percent  int
	now      time.Time
	promised []promise
	acked    map[string]uint64 // last Pos that each user's phone acknowledged
	forgot   map[string]bool   // users whose watch was forgotten since its last Ack
	version  uint64            // last change of the tram's members that was answered
}

// newCrash is of a store that does not exist yet.
func newCrash() *crash {
	return &crash{fs: newDisk(), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// again is the same crash once more, to go on from.
func (c *crash) again(random *rand.Rand) *crash {
	other := *c
	other.fs = c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: random})
	return &other
}

// load is the callers of a store that will crash.
type load struct {
	store  *Store
	fs     *memDisk
	failed chan struct{} // closed when the store ended by itself

	// Guarded by mu.
	mu       sync.Mutex
	random   *rand.Rand
	now      time.Time
	promised []promise
	acked    map[string]uint64
	forgot   map[string]bool
	version  uint64
	crashes  []*crash
	client   uint64
}

// runUntilCrashes opens a store, works with it and returns crashes that happened meanwhile.
func runUntilCrashes(t *testing.T, from *crash, random *rand.Rand) []*crash {
	l := &load{
		fs: from.fs, failed: make(chan struct{}), random: rand.New(rand.NewPCG(random.Uint64(), 1)), now: from.now,
		promised: from.promised, version: from.version, acked: copied(from.acked), forgot: copied(from.forgot),
	}
	var operations, next atomic.Int64
	next.Store(1 << 60) // not yet
	options := crashOptions(t, errorfs.Wrap(from.fs, errorfs.InjectorFunc(func(errorfs.Op) error {
		if operations.Add(1) >= next.Load() {
			l.crash()
			next.Store(operations.Load() + 1 + rand.Int64N(10))
		}
		return nil
	})))
	options.Commit.Now = l.clock
	options.Commit.Fatal = func(err error) {
		t.Errorf("the store ended: %v", err)
		close(l.failed)
	}
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	l.store = s
	l.makeGroups(t)
	next.Store(operations.Load() + 1)

	stop := make(chan struct{})
	var callers sync.WaitGroup
	for i := range crashedUsers {
		callers.Go(func() { l.work(t, i, stop) })
	}
	poll(t, "the crashes", func() bool { return l.crashed() >= crashesInOne })
	close(stop)
	callers.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.crashes
}

// crashOptions owes what a group of more than four gets, and pays it in chunks of two.
func crashOptions(t *testing.T, fs vfs.FS) Options {
	o := testOptions(t, fs)
	o.Commit.AtOnce, o.Commit.Chunk = 4, 2
	return o
}

// crash copies what a power cut would leave now. What was promised before it must be in it.
func (l *load) crash() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.crashes) >= crashesInOne {
		return
	}
	c := &crash{
		percent: l.random.IntN(101), now: l.now, promised: l.promised[:len(l.promised):len(l.promised)],
		version: l.version, acked: copied(l.acked), forgot: copied(l.forgot),
	}
	c.fs = l.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.percent, RNG: l.random})
	l.crashes = append(l.crashes, c)
}

// copied is a copy that is not nil.
func copied[V any](m map[string]V) map[string]V {
	other := map[string]V{}
	maps.Copy(other, m)
	return other
}

// clock is the store's time. It runs with the work, so that client ids expire.
func (l *load) clock() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *load) crashed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.crashes)
}

func crashUser(i int) string { return fmt.Sprintf("user%d", i) }

// makeGroups makes one group whose entries are owed and one where that changes with its members.
func (l *load) makeGroups(t *testing.T) {
	var users []string
	for i := range crashedUsers {
		users = append(users, crashUser(i))
	}
	if l.version > 0 {
		return // it goes on from a crash
	}
	l.version = 1
	for _, c := range []*store.Members{{Group: "tram", Version: 1, Add: users[:4]}, {Group: "stadium", Version: 1, Add: users}} {
		if a := storetest.Call(l.store, c); a.Refusal != store.None {
			t.Fatal(a.Refusal)
		}
	}
}

// work does random things as one user.
func (l *load) work(t *testing.T, i int, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		l.mu.Lock()
		dice, other := l.random.IntN(40), crashUser(l.random.IntN(crashedUsers))
		l.mu.Unlock()
		switch {
		case dice < 5:
			l.send(i, "", "stadium")
		case dice < 10:
			l.send(i, "", "tram")
		case dice < 13 && i == 0:
			l.change()
		case dice == 13:
			if start, err := l.store.Start(crashUser(i), "phone"); err == nil && start.Head > 20 {
				l.store.TrimInbox(crashUser(i), start.Head-20)
			}
		case dice == 14 && i == 1:
			l.store.TrimConversation("tram", uint64(n/4))
		case dice == 14 && i >= 2:
			l.store.Purge()
		case dice == 15:
			l.forget(i)
		case dice == 16 && i == 3:
			l.mu.Lock()
			l.now = l.now.Add(40 * time.Hour)
			l.mu.Unlock()
		default:
			l.send(i, other, "")
		}
		if n%4 == 0 {
			l.ack(i, dice%5 == 0)
		}
	}
}

// send sends and keeps the promise. A user who is not a member at the moment is refused.
func (l *load) send(i int, to, group string) {
	l.mu.Lock()
	l.client++
	id := fmt.Appendf(nil, "%d-%d", l.client, l.random.Uint64())
	l.mu.Unlock()
	s := &store.Send{Sender: crashUser(i), SenderDevice: "phone", ToUser: to, ToGroup: group, ClientID: id, Payload: append([]byte("payload "), id...)}
	answer := make(chan struct{})
	s.Reply = replyFunc(func(a store.Answer) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if a.Refusal == store.None {
			l.promised = append(l.promised, promise{s, a})
		}
		close(answer)
	})
	if l.store.Submit(s) != store.None {
		return
	}
	select {
	case <-answer:
	case <-l.failed:
	}
}

type replyFunc func(store.Answer)

func (f replyFunc) Reply(a store.Answer) { f(a) }

// call waits for an answer as long as the store goes on.
func call(s *commit.Store, c store.Command, failed <-chan struct{}) (store.Answer, bool) {
	answer := make(chan store.Answer, 1)
	reply := replyFunc(func(a store.Answer) { answer <- a })
	switch c := c.(type) {
	case *store.Send:
		c.Reply = reply
	case *store.Members:
		c.Reply = reply
	case *store.Forget:
		c.Reply = reply
	}
	if r := s.Submit(c); r != store.None {
		return store.Answer{Refusal: r}, true
	}
	select {
	case a := <-answer:
		return a, true
	case <-failed:
		return store.Answer{}, false
	}
}

// change lets the later users leave and join the tram.
func (l *load) change() {
	l.mu.Lock()
	next := &store.Members{Group: "tram", Version: l.version + 1}
	user := crashUser(3 + l.random.IntN(crashedUsers-3))
	if l.random.IntN(2) == 0 {
		next.Add = []string{user}
	} else {
		next.Remove = []string{user}
	}
	l.mu.Unlock()
	if a, ok := call(l.store.Store, next, l.failed); ok && a.Refusal == store.None {
		l.mu.Lock()
		l.version = next.Version
		l.mu.Unlock()
	}
}

func (l *load) ack(i int, leaving bool) {
	start, err := l.store.Start(crashUser(i), "phone")
	if err != nil {
		return
	}
	l.mu.Lock()
	l.acked[crashUser(i)] = max(l.acked[crashUser(i)], start.Head)
	l.mu.Unlock()
	l.store.Ack(store.Ack{User: crashUser(i), Device: "phone", Pos: start.Head, HasPos: true, Leaving: leaving, Seen: 1})
}

// forget has a user's watch acknowledge and then forgets it.
func (l *load) forget(i int) {
	user := crashUser(i)
	l.mu.Lock()
	delete(l.forgot, user)
	l.mu.Unlock()
	l.store.Ack(store.Ack{User: user, Device: "watch", Pos: 1, HasPos: true, Leaving: i%2 == 0, Seen: 1})
	if a, ok := call(l.store.Store, &store.Forget{User: user, Device: "watch"}, l.failed); ok && a.Refusal == store.None {
		l.mu.Lock()
		l.forgot[user] = true
		l.mu.Unlock()
	}
}

// poll waits for what must come, unless the test has failed already.
func poll(t *testing.T, what string, there func() bool) {
	for deadline := time.Now().Add(crashDeadline); !there() && !t.Failed(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Errorf("%s did not come in %v", what, crashDeadline)
			return
		}
	}
}
