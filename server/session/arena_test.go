package session

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func put(t testing.TB, a *Arena, user, device string) Ref {
	t.Helper()
	ref, err := a.Put([]byte(user), []byte(device))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func TestArenaSizeClasses(t *testing.T) {
	for _, tt := range []struct{ user, device, class int }{
		{0, 0, 0},
		{1, 1, 0},
		{16, 0, 0},
		{8, 8, 0},
		{8, 9, 1},
		{16, 16, 1},
		{32, 1, 2},
		{32, 32, 2},
		{64, 1, 3},
		{64, 64, 3},
		{128, 0, 3},
	} {
		var a Arena
		user, device := strings.Repeat("u", tt.user), strings.Repeat("d", tt.device)
		ref := put(t, &a, user, device)
		if ref == 0 {
			t.Errorf("%d + %d: the place is no place", tt.user, tt.device)
		}
		if got := int(ref >> 30); got != tt.class {
			t.Errorf("%d + %d: class %d, want %d", tt.user, tt.device, got, tt.class)
		}
		if got := string(a.Bytes(ref, len(user)+len(device))); got != user+device {
			t.Errorf("%d + %d: read back %q", tt.user, tt.device, got)
		}
		for i, p := range a.pools {
			if taken := p.fresh; taken != 0 && i != tt.class {
				t.Errorf("%d + %d: %d blocks of class %d are taken too", tt.user, tt.device, taken, i)
			}
		}
	}
}

func TestArenaRefusesWhatFitsNoBlock(t *testing.T) {
	var a Arena
	for _, tt := range []struct{ user, device int }{{64, 65}, {129, 0}, {0, 129}, {1000, 1000}} {
		ref, err := a.Put(make([]byte, tt.user), make([]byte, tt.device))
		if err == nil || ref != 0 {
			t.Errorf("%d + %d: got place %d and %v", tt.user, tt.device, ref, err)
		}
	}
	for i, p := range a.pools {
		if p.fresh != 0 || len(p.chunks) != 0 {
			t.Errorf("class %d has grown for nothing", i)
		}
	}
}

func TestArenaReusesTheOldestBlockFirst(t *testing.T) {
	var a Arena
	var refs []Ref
	for range 5 {
		refs = append(refs, put(t, &a, "alice", "phone"))
	}
	other := put(t, &a, strings.Repeat("u", 30), "")
	order := []int{3, 0, 4}
	for _, i := range order {
		a.Release(refs[i])
	}
	a.Release(other)
	for _, i := range order {
		if got := put(t, &a, "bob", "desktop"); got != refs[i] {
			t.Errorf("got place %#x, want %#x, which is free longest", got, refs[i])
		}
	}
	if got := put(t, &a, "bob", "desktop"); got != 6 {
		t.Errorf("with no free block left in the class: got place %#x, want a fresh one", got)
	}
}

// What a block held before is behind the end of what it holds now: appending to or reslicing it must not bring it back.
func TestArenaHidesWhatWasInABlock(t *testing.T) {
	var a Arena
	secret := put(t, &a, "secretuser", "phone1")
	a.Release(secret)
	ref := put(t, &a, "al", "")
	if ref != secret {
		t.Fatal("the block is not used again")
	}
	b := a.Bytes(ref, 2)
	if string(b) != "al" || len(b) != 2 || cap(b) != 2 {
		t.Errorf("got %q, capacity %d", b, cap(b))
	}
	if next := put(t, &a, "neighbour", ""); string(append(b, "!!"...)) != "al!!" || string(a.Bytes(next, 9)) != "neighbour" {
		t.Errorf("appending wrote into the arena: %q", a.Bytes(next, 9))
	}
}

func TestArenaGrowsOverChunks(t *testing.T) {
	for class, size := range classes {
		var a Arena
		per := arenaChunk / size
		content := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8)}, size/2) }
		var refs []Ref
		for i := range 2*per + 1 {
			ref, err := a.Put(content(i), nil)
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, ref)
		}
		if got := len(a.pools[class].chunks); got != 3 {
			t.Errorf("class %d: %d chunks, want 3", class, got)
		}
		for i, ref := range refs {
			if !bytes.Equal(a.Bytes(ref, size), content(i)) {
				t.Fatalf("class %d: block %d was overwritten", class, i)
			}
		}
	}
}

// Random puts and releases against a map: every block keeps what was put there until it is released, and no place is
// given to two.
func TestArenaAgainstAModel(t *testing.T) {
	type kept struct {
		ref  Ref
		want string
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var a Arena
	var live []kept
	taken := make(map[Ref]bool)
	freed := make([][]Ref, len(classes))
	for step := range 100_000 {
		if len(live) > 0 && rng.IntN(100) < 49 {
			i := rng.IntN(len(live))
			k := live[i]
			if got := string(a.Bytes(k.ref, len(k.want))); got != k.want {
				t.Fatalf("step %d: place %#x holds %q, want %q", step, k.ref, got, k.want)
			}
			a.Release(k.ref)
			delete(taken, k.ref)
			freed[k.ref>>30] = append(freed[k.ref>>30], k.ref)
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
			continue
		}
		user, device := randomBytes(rng, 64), randomBytes(rng, 64)
		ref := put(t, &a, user, device)
		if taken[ref] {
			t.Fatalf("step %d: place %#x is given to two", step, ref)
		}
		if f := freed[ref>>30]; len(f) > 0 {
			if ref != f[0] {
				t.Fatalf("step %d: place %#x before %#x, which is free longer", step, ref, f[0])
			}
			freed[ref>>30] = f[1:]
		}
		taken[ref] = true
		live = append(live, kept{ref, user + device})
	}
	for _, k := range live {
		if got := string(a.Bytes(k.ref, len(k.want))); got != k.want {
			t.Errorf("place %#x holds %q, want %q", k.ref, got, k.want)
		}
	}
}

func randomBytes(rng *rand.Rand, most int) string {
	b := make([]byte, rng.IntN(most+1))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return string(b)
}

func TestArenaMakesNoGarbage(t *testing.T) {
	var a Arena
	user, device := []byte("alice"), []byte("phone")
	first, err := a.Put(user, device)
	if err != nil {
		t.Fatal(err)
	}
	a.Release(first)
	allocs := testing.AllocsPerRun(1000, func() {
		ref, err := a.Put(user, device)
		if err != nil || len(a.Bytes(ref, 10)) != 10 {
			t.Fatal(ref, err)
		}
		a.Release(ref)
	})
	if allocs != 0 {
		t.Errorf("%v allocations for a Put and a Release", allocs)
	}
}
