package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// rig is a loop's slab, arena and index.
type rig struct {
	t     testing.TB
	slab  *Slab
	arena *Arena
	*Index
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, slab: NewSlab(0), arena: new(Arena)}
	r.Index = NewIndex(r.slab, r.arena)
	return r
}

// open opens a session of a user with a hash of the test's choice.
func (r *rig) open(hash uint64, user, device string) *Session {
	r.t.Helper()
	s := open(r.t, r.slab)
	s.UserHash = hash
	if err := r.SetIDs(s, []byte(user), []byte(device)); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// found lists what the index has under a hash, in rising order.
func (r *rig) found(hash uint64) []ConnID {
	var ids []ConnID
	for s := r.First(hash); s != nil; s = r.Next(s) {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestIndexFindsByHash(t *testing.T) {
	r := newRig(t)
	phone, desktop := r.open(1, "alice", "phone"), r.open(1, "alice", "desktop")
	bob := r.open(2, "bob", "phone")
	for _, s := range []*Session{phone, desktop, bob} {
		r.Add(s)
		if !s.Has(Indexed) {
			t.Errorf("%s is not marked", s.ID)
		}
	}
	if got := r.found(1); !slices.Equal(got, []ConnID{phone.ID, desktop.ID}) {
		t.Errorf("hash 1: %v", got)
	}
	if got := r.found(2); !slices.Equal(got, []ConnID{bob.ID}) {
		t.Errorf("hash 2: %v", got)
	}
	if got := r.found(3); got != nil {
		t.Errorf("hash 3: %v", got)
	}
}

// Two users with one hash share a chain: what it finds is not the user's until that is confirmed.
func TestIndexTellsUsersWithOneHashApart(t *testing.T) {
	r := newRig(t)
	alice, mallory := r.open(9, "alice", "phone"), r.open(9, "mallory", "phone")
	r.Add(alice)
	r.Add(mallory)
	if got := r.found(9); len(got) != 2 {
		t.Fatalf("got %v", got)
	}
	for _, tt := range []struct {
		s    *Session
		user string
		want bool
	}{
		{alice, "alice", true},
		{alice, "mallory", false},
		{alice, "alic", false},
		{alice, "alicephone", false},
		{alice, "", false},
		{mallory, "mallory", true},
		{mallory, "alice", false},
	} {
		if got := r.Is(tt.s, tt.user); got != tt.want {
			t.Errorf("session of %q is %q's: %v", r.User(tt.s), tt.user, got)
		}
	}
	if r.Remove(alice) {
		t.Error("alice was the last of the hash although mallory is there")
	}
	if !r.Remove(mallory) {
		t.Error("mallory was not the last of the hash")
	}
}

func TestIndexRemovesInEveryPosition(t *testing.T) {
	for n := 1; n <= 4; n++ {
		for at := range n {
			r := newRig(t)
			var all []*Session
			for i := range n {
				all = append(all, r.open(5, fmt.Sprintf("user-%d", i), "phone"))
				r.Add(all[i])
			}
			gone := all[at]
			if last := r.Remove(gone); last != (n == 1) {
				t.Errorf("%d sessions, remove %d: last = %v", n, at, last)
			}
			if gone.Has(Indexed) {
				t.Errorf("%d sessions, remove %d: still marked", n, at)
			}
			var want []ConnID
			for _, s := range slices.Delete(all, at, at+1) {
				want = append(want, s.ID)
			}
			if got := r.found(5); !slices.Equal(got, want) {
				t.Errorf("%d sessions, remove %d: left %v, want %v", n, at, got, want)
			}
		}
	}
}

func TestIndexRemovesNothingTwice(t *testing.T) {
	r := newRig(t)
	never, once := r.open(1, "alice", "phone"), r.open(1, "alice", "desktop")
	r.Add(once)
	if r.Remove(never) {
		t.Error("a session that was never added was the last")
	}
	if got := r.found(1); !slices.Equal(got, []ConnID{once.ID}) {
		t.Errorf("got %v", got)
	}
	if !r.Remove(once) || r.Remove(once) {
		t.Error("only the first Remove takes the last session out")
	}
	if len(r.heads) != 0 {
		t.Errorf("%d heads are left of an empty index", len(r.heads))
	}
}

// A chain that has lost a session is a fault of this package, and it must not be passed over.
func TestIndexPanicsOnABrokenChain(t *testing.T) {
	r := newRig(t)
	s := r.open(1, "alice", "phone")
	r.Add(r.open(1, "alice", "desktop"))
	s.Set(Indexed)
	defer func() {
		if recover() == nil {
			t.Error("nothing was said")
		}
	}()
	r.Remove(s)
}

func TestIndexIDs(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct{ user, device string }{
		{"alice", "phone"}, {"a", "d"}, {string(make([]byte, 64)), string(make([]byte, 64))}, {"alice", ""},
	} {
		s := r.open(1, tt.user, tt.device)
		user, device := r.User(s), r.Device(s)
		if string(user) != tt.user || string(device) != tt.device {
			t.Errorf("got %q %q, want %q %q", user, device, tt.user, tt.device)
		}
		if cap(user) != len(user) || cap(device) != len(device) {
			t.Errorf("%q %q: the slices reach beyond the ids", user, device)
		}
	}
	s := open(t, r.slab)
	if err := r.SetIDs(s, make([]byte, 100), make([]byte, 100)); err == nil {
		t.Error("ids of 200 bytes were kept")
	}
	r.ReleaseIDs(s)
	if s.ids != 0 {
		t.Error("a session without ids has some after ReleaseIDs")
	}
}

func TestIndexReleasesIDsOnce(t *testing.T) {
	r := newRig(t)
	s := r.open(1, "alice", "phone")
	ref := s.ids
	r.ReleaseIDs(s)
	r.ReleaseIDs(s)
	first, second := r.open(1, "bob", "phone"), r.open(1, "carol", "phone")
	if first.ids != ref || second.ids == ref {
		t.Errorf("the block %#x went to %#x and %#x", ref, first.ids, second.ids)
	}
}

// Random adds and removes, few hashes, against a map.
func TestIndexAgainstAModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	r := newRig(t)
	model := make(map[uint64][]ConnID)
	var all []*Session
	for step := range 30_000 {
		hash := rng.Uint64N(7)
		if len(all) < 40 && rng.IntN(2) == 0 {
			s := r.open(hash, fmt.Sprintf("user-%d", rng.IntN(20)), fmt.Sprintf("device-%d", step))
			r.Add(s)
			all = append(all, s)
			model[hash] = append(model[hash], s.ID)
		} else if len(all) > 0 {
			i := rng.IntN(len(all))
			s := all[i]
			all = slices.Delete(all, i, i+1)
			hash = s.UserHash
			model[hash] = slices.DeleteFunc(model[hash], func(id ConnID) bool { return id == s.ID })
			if last := r.Remove(s); last != (len(model[hash]) == 0) {
				t.Fatalf("step %d: last = %v with %d left", step, last, len(model[hash]))
			}
			r.ReleaseIDs(s)
			r.slab.Free(s)
		}
		slices.Sort(model[hash])
		if got := r.found(hash); !slices.Equal(got, model[hash]) {
			t.Fatalf("step %d: hash %d: got %v, want %v", step, hash, got, model[hash])
		}
	}
}

func TestIndexMakesNoGarbage(t *testing.T) {
	r := newRig(t)
	s := r.open(1, "alice", "phone")
	r.Add(s)
	other := r.open(2, "bob", "phone")
	user, device := []byte("bob"), []byte("phone")
	allocs := testing.AllocsPerRun(1000, func() {
		r.Add(other)
		if r.First(2) != other || !r.Is(other, "bob") || !r.Remove(other) {
			t.Fatal("not found")
		}
		r.ReleaseIDs(other)
		if err := r.SetIDs(other, user, device); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for an Add and a Remove", allocs)
	}
}
