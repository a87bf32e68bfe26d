package delivery

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lifeline/store"
)

// mailboxes keeps what is posted, per loop, and how often.
type mailboxes struct {
	items [4][]Item
	posts [4]int
}

func (m *mailboxes) Deliver(loop int, items []Item) {
	m.items[loop] = append(m.items[loop], items...)
	m.posts[loop]++
}

// fanoutRig is a fanout over four loops.
type fanoutRig struct {
	*Fanout
	mailboxes
	watched []*store.Event
}

func newFanoutRig() *fanoutRig {
	r := &fanoutRig{}
	r.Fanout = NewFanout(NewDirectory(), len(r.items), &r.mailboxes, func() int64 { return 77 },
		func(e *store.Event, committed int64) { r.watched = append(r.watched, e) })
	return r
}

func (r *fanoutRig) join(user string, loops ...int) {
	for _, loop := range loops {
		r.dir.Join(r.dir.Hash(user), loop)
	}
}

// posted is what a loop got, without the content.
func (r *fanoutRig) posted(loop int) []store.Recipient {
	var all []store.Recipient
	for _, it := range r.items[loop] {
		all = append(all, store.Recipient{User: it.User, Pos: it.Pos})
	}
	return all
}

func message(to ...store.Recipient) store.Event {
	return store.Event{Kind: store.KindMessage, Message: testMessage(10), To: to}
}

func TestFanoutPostsOneItemPerRecipientAndLoop(t *testing.T) {
	r := newFanoutRig()
	r.join("alice", 0, 3)
	r.join("bob", 3)
	e := message(store.Recipient{User: "alice", Pos: 5}, store.Recipient{User: "bob", Pos: 9}, store.Recipient{User: "carol", Pos: 2})
	r.Committed([]store.Event{e})
	want := [4][]store.Recipient{0: {{User: "alice", Pos: 5}}, 3: {{User: "alice", Pos: 5}, {User: "bob", Pos: 9}}}
	for loop := range want {
		if got := r.posted(loop); !slices.Equal(got, want[loop]) {
			t.Errorf("loop %d got %v, want %v", loop, got, want[loop])
		}
	}
	what := r.items[0][0].What
	for _, it := range slices.Concat(r.items[:]...) {
		if it.What != what {
			t.Error("the message was encoded more than once")
		}
		if it.Hash != r.dir.Hash(it.User) {
			t.Errorf("%s's item has another hash", it.User)
		}
	}
	if what.Committed != 77 {
		t.Errorf("committed at %d, want the clock's 77", what.Committed)
	}
}

func TestFanoutPostsOnceToALoopForABatch(t *testing.T) {
	r := newFanoutRig()
	r.join("alice", 1)
	r.join("bob", 1, 2)
	var batch []store.Event
	for i := range uint64(10) {
		batch = append(batch, message(store.Recipient{User: "alice", Pos: i + 1}, store.Recipient{User: "bob", Pos: i + 1}))
	}
	r.Committed(batch)
	if r.posts != [4]int{0, 1, 1, 0} {
		t.Errorf("posts per loop: %v", r.posts)
	}
	if len(r.items[1]) != 20 || len(r.items[2]) != 10 {
		t.Errorf("items per loop: %d and %d", len(r.items[1]), len(r.items[2]))
	}
	for i := range batch {
		if r.watched[i] != &batch[i] {
			t.Errorf("event %d was not watched", i)
		}
	}
}

// Every user's positions arrive at every loop rising and without a hole, whatever else the batches hold.
func TestFanoutKeepsTheOrderOfEachUser(t *testing.T) {
	r := newFanoutRig()
	rng := rand.New(rand.NewPCG(9, 10))
	heads := make(map[string]uint64)
	users := []string{"alice", "bob", "carol", "dan", "eve"}
	for i, user := range users {
		r.join(user, i%4, (i+1)%4)
	}
	for range 200 {
		var batch []store.Event
		for range rng.IntN(20) {
			var to []store.Recipient
			for _, i := range rng.Perm(len(users))[:1+rng.IntN(len(users))] {
				heads[users[i]]++
				to = append(to, store.Recipient{User: users[i], Pos: heads[users[i]]})
			}
			batch = append(batch, message(to...))
		}
		r.Committed(batch)
	}
	for loop := range r.items {
		at := make(map[string]uint64)
		for _, it := range r.items[loop] {
			if it.Pos != at[it.User]+1 {
				t.Fatalf("loop %d: %s's position %d came after %d", loop, it.User, it.Pos, at[it.User])
			}
			at[it.User] = it.Pos
		}
		for user, pos := range at {
			if pos != heads[user] {
				t.Errorf("loop %d: %s got up to %d of %d", loop, user, pos, heads[user])
			}
		}
		if len(at) == 0 {
			t.Errorf("loop %d got nothing", loop)
		}
	}
}

func TestFanoutEncodesNothingWhenNobodyIsHome(t *testing.T) {
	r := newFanoutRig()
	r.join("dan", 1)
	r.watched = make([]*store.Event, 0, 4096)
	batch := []store.Event{message(store.Recipient{User: "alice", Pos: 1}, store.Recipient{User: "bob", Pos: 1})}
	if allocs := testing.AllocsPerRun(100, func() { r.Committed(batch) }); allocs != 0 {
		t.Errorf("%v allocations for users who are away", allocs)
	}
	if r.posts != [4]int{} {
		t.Errorf("posts per loop: %v", r.posts)
	}
	if len(r.watched) != 101 {
		t.Errorf("%d events were watched, want all 101", len(r.watched))
	}
}

func TestFanoutFollowsTheDirectory(t *testing.T) {
	r := newFanoutRig()
	to := store.Recipient{User: "alice", Pos: 1}
	r.Committed([]store.Event{message(to)})
	r.join("alice", 2)
	to.Pos = 2
	r.Committed([]store.Event{message(to)})
	r.dir.Leave(r.dir.Hash("alice"), 2)
	to.Pos = 3
	r.Committed([]store.Event{message(to)})
	if got := r.posted(2); !slices.Equal(got, []store.Recipient{{User: "alice", Pos: 2}}) {
		t.Errorf("got %v", got)
	}
}

// What was posted is not held here: a burst's messages must not stay in memory until the next burst.
func TestFanoutKeepsNoItems(t *testing.T) {
	r := newFanoutRig()
	r.join("alice", 0)
	var batch []store.Event
	for i := range uint64(50) {
		batch = append(batch, message(store.Recipient{User: "alice", Pos: i + 1}))
	}
	r.Committed(batch)
	for loop, items := range r.byLoop {
		for i, it := range items[:cap(items)] {
			if it != (Item{}) {
				t.Errorf("loop %d: item %d is still held", loop, i)
			}
		}
	}
	if len(r.items[0]) != 50 || r.items[0][49].What == nil {
		t.Error("what was posted is gone with it")
	}
}

// An event costs what its encoding costs, however many it is for.
func TestFanoutMakesLittleGarbage(t *testing.T) {
	for _, members := range []int{1, 2, 100, 2000} {
		dir := NewDirectory()
		var to []store.Recipient
		for i := range members {
			user := fmt.Sprintf("user-%d", i)
			dir.Join(dir.Hash(user), i%2)
			to = append(to, store.Recipient{User: user, Pos: 1})
		}
		f := NewFanout(dir, 2, nobody{}, func() int64 { return 1 }, func(*store.Event, int64) {})
		batch := []store.Event{message(to...), message(to...)}
		f.Committed(batch)
		if allocs := testing.AllocsPerRun(100, func() { f.Committed(batch) }); allocs > 4 {
			t.Errorf("%d members: %v allocations for two events, want at most 4", members, allocs)
		}
	}
}
