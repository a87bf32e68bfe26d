package pebblestore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
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
	crashPoints   = 2000
	crashesInOne  = 50 // of one run of a store
	crashedUsers  = 6
	crashedCrowd  = 230 // so that the stadium's messages are owed
	crashDeadline = 30 * time.Second
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
	last := &crash{fs: vfs.NewCrashableMem(), acked: map[string]uint64{}}
	var looked sync.WaitGroup
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	for run, seen := 0, 0; seen < points; run++ {
		from := last
		if run%2 == 0 {
			from = &crash{fs: vfs.NewCrashableMem(), acked: map[string]uint64{}}
		}
		for _, c := range runUntilCrashes(t, from, random) {
			last = &crash{c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: random}), c.percent, c.promised, c.acked, c.version}
			seen++
			room <- struct{}{}
			looked.Go(func() {
				defer func() { <-room }()
				c.look(t, seen%8 == 0)
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
	fs       *vfs.MemFS
	percent  int
	promised []promise
	acked    map[string]uint64 // last Pos that each user's device acknowledged
	version  uint64            // last change of the tram's members that was answered
}

// load is the callers of a store that will crash.
type load struct {
	store *Store
	fs    *vfs.MemFS

	// Guarded by mu.
	mu       sync.Mutex
	random   *rand.Rand
	promised []promise
	acked    map[string]uint64
	version  uint64
	crashes  []*crash
	client   uint64
}

// runUntilCrashes opens a store, works with it and returns crashes that happened meanwhile.
func runUntilCrashes(t *testing.T, from *crash, random *rand.Rand) []*crash {
	l := &load{fs: from.fs, random: rand.New(rand.NewPCG(random.Uint64(), 1)), promised: from.promised, version: from.version, acked: map[string]uint64{}}
	for user, pos := range from.acked {
		l.acked[user] = pos
	}
	var operations, next atomic.Int64
	next.Store(1 << 60) // not yet
	options := testOptions(t, errorfs.Wrap(from.fs, errorfs.InjectorFunc(func(errorfs.Op) error {
		if operations.Add(1) >= next.Load() {
			l.crash()
			next.Store(operations.Load() + 1 + rand.Int64N(10))
		}
		return nil
	})))
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	l.store = s
	l.settle(t)
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
	return l.crashes[:crashesInOne]
}

// crash copies what a power cut would leave now. What was promised before it must be in it.
func (l *load) crash() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.crashes) >= crashesInOne {
		return
	}
	c := &crash{percent: l.random.IntN(101), promised: l.promised[:len(l.promised):len(l.promised)], version: l.version, acked: map[string]uint64{}}
	c.fs = l.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.percent, RNG: l.random})
	for user, pos := range l.acked {
		c.acked[user] = pos // after the copy: an Ack may be stored as soon as it is submitted
	}
	l.crashes = append(l.crashes, c)
}

func (l *load) crashed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.crashes)
}

func crashUser(i int) string { return fmt.Sprintf("user%d", i) }

// settle makes the groups.
func (l *load) settle(t *testing.T) {
	var users, crowd []string
	for i := range crashedUsers {
		users = append(users, crashUser(i))
	}
	for i := range crashedCrowd {
		crowd = append(crowd, fmt.Sprintf("fan%d", i))
	}
	if l.version == 0 {
		l.version = 1
		storetest.Call(l.store, &store.Members{Group: "tram", Version: 1, Add: users})
		storetest.Call(l.store, &store.Members{Group: "stadium", Version: 1, Add: append(crowd, users...)})
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
		case dice == 0:
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
		default:
			l.send(i, other, "")
		}
		l.ack(i, dice%5 == 0)
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
	if l.store.Submit(s) == store.None {
		<-answer
	}
}

type replyFunc func(store.Answer)

func (f replyFunc) Reply(a store.Answer) { f(a) }

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
	if a := storetest.Call(l.store, next); a.Refusal == store.None {
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

// look opens what is left and compares it with what was promised. To the end means: also pay what is owed, close, and
// look again.
func (c *crash) look(t *testing.T, toTheEnd bool) {
	options := testOptions(t, c.fs)
	options.wrap = func(e store.Engine) store.Engine {
		verifyNothing(t, e, c.percent)
		return e
	}
	s, err := Open(options)
	if err != nil {
		t.Errorf("%d %% kept: %v", c.percent, err)
		return
	}
	c.lookForPromises(t, s)
	for i := range crashedUsers {
		if start, err := s.Start(crashUser(i), "phone"); err != nil || start.Cursor > c.acked[crashUser(i)] {
			t.Errorf("%d %% kept: the cursor of %s is %d, acknowledged was %d, %v", c.percent, crashUser(i), start.Cursor, c.acked[crashUser(i)], err)
		}
	}
	if a := storetest.Call(s, &store.Members{Group: "tram", Version: c.version}); a.Refusal != store.StaleVersion {
		t.Errorf("%d %% kept: the members' version %d is lost: %v", c.percent, c.version, a.Refusal)
	}
	if toTheEnd {
		poll(t, "what is owed", func() bool { return s.Load().Obligations == 0 })
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if !toTheEnd {
		return
	}
	census, err := Tool{Dir: options.Dir, FS: c.fs, Log: options.Log}.Verify(func(fault string) { t.Errorf("%d %% kept, at the end: %s", c.percent, fault) })
	if err != nil || census.Obligations > 0 {
		t.Errorf("%d %% kept, at the end: %+v, %v", c.percent, census, err)
	}
}

func verifyNothing(t *testing.T, e store.Engine, percent int) {
	if _, err := commit.Verify(e, time.Now(), func(fault string) { t.Errorf("%d %% kept: %s", percent, fault) }); err != nil {
		t.Errorf("%d %% kept: %v", percent, err)
	}
}

// lookForPromises finds every promised message at its Seq, and some by their client ids.
func (c *crash) lookForPromises(t *testing.T, s *Store) {
	conversations := map[string]map[uint64]*store.Message{}
	trimmed := map[string]uint64{}
	for n, p := range c.promised {
		name := p.send.Conversation()
		if conversations[name] == nil {
			conversations[name], trimmed[name] = readAll(t, s, p.send.Sender, name)
		}
		m := conversations[name][p.answer.Seq]
		if p.answer.Seq > trimmed[name] && (m == nil || m.ID != p.answer.MessageID || !bytes.Equal(m.Payload, p.send.Payload)) {
			t.Errorf("%d %% kept: message %d of %q was acknowledged and is lost: %v", c.percent, p.answer.Seq, name, m)
		}
		if n%17 == 0 {
			retry := *p.send
			if a := storetest.Call(s, &retry); a != p.answer {
				t.Errorf("%d %% kept: a retry was answered %+v, before the crash %+v", c.percent, a, p.answer)
			}
		}
	}
	if name := store.Direct(crashUser(0), crashUser(1)); conversations[name] != nil {
		head := trimmed[name] + uint64(len(conversations[name]))
		send := &store.Send{Sender: crashUser(0), SenderDevice: "new", ToUser: crashUser(1), ClientID: []byte("next")}
		if a := storetest.Call(s, send); a.Refusal != store.None || a.Seq != head+1 {
			t.Errorf("%d %% kept: the next message was answered %+v, want Seq %d", c.percent, a, head+1)
		}
	}
}

// readAll reads the messages of a conversation as one of its first users, and how far it is trimmed.
func readAll(t *testing.T, s *Store, user, name string) (messages map[uint64]*store.Message, trimmed uint64) {
	if !strings.Contains(name, "\x1f") {
		user = crashUser(0) // who never left
	}
	messages = map[uint64]*store.Message{}
	for from := uint64(1); ; {
		page, err := s.History(store.HistoryRead{User: user, Conversation: name, From: from, To: 1 << 40, MaxBytes: 1 << 20})
		if err != nil || page.Refusal != store.None {
			t.Errorf("history of %q: %v, %v", name, page.Refusal, err)
			return messages, trimmed
		}
		for _, gap := range page.Gaps {
			trimmed = max(trimmed, gap.To)
		}
		for _, m := range page.Messages {
			messages[m.Seq] = m
			from = m.Seq + 1
		}
		if !page.More {
			return messages, trimmed
		}
	}
}

// poll waits for what must come.
func poll(t *testing.T, what string, there func() bool) {
	for deadline := time.Now().Add(crashDeadline); !there(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Errorf("%s did not come in %v", what, crashDeadline)
			return
		}
	}
}
