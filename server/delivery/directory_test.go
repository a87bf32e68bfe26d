package delivery

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"lifeline/server/session"
)

func TestDirectoryMasks(t *testing.T) {
	d := NewDirectory()
	alice, bob := d.Hash("alice"), d.Hash("bob")
	if got := d.Loops(alice); got != 0 {
		t.Errorf("nobody has joined: mask %b", got)
	}
	for _, tt := range []struct {
		hash uint64
		loop int
		want uint64
	}{
		{alice, 0, 0b1},
		{alice, 2, 0b101},
		{alice, 2, 0b101},
		{bob, 1, 0b10},
		{alice, session.MaxLoops - 1, 1<<63 | 0b101},
	} {
		if got := d.Join(tt.hash, tt.loop); got != tt.want || d.Loops(tt.hash) != tt.want {
			t.Errorf("join loop %d: mask %b, then %b, want %b", tt.loop, got, d.Loops(tt.hash), tt.want)
		}
	}
	for _, tt := range []struct {
		hash uint64
		loop int
		want uint64
	}{
		{alice, 1, 1<<63 | 0b101}, // bob's bit, not alice's
		{alice, 63, 0b101},
		{alice, 0, 0b100},
		{alice, 0, 0b100},
		{alice, 2, 0},
		{alice, 2, 0},
	} {
		d.Leave(tt.hash, tt.loop)
		if got := d.Loops(tt.hash); got != tt.want {
			t.Errorf("leave loop %d: mask %b, want %b", tt.loop, got, tt.want)
		}
	}
	if got := d.Loops(bob); got != 0b10 {
		t.Errorf("bob's mask has become %b", got)
	}
}

func TestDirectoryUsers(t *testing.T) {
	d := NewDirectory()
	const n = 1000 // on every stripe
	for i := range n {
		hash := d.Hash(fmt.Sprintf("user-%d", i))
		d.Join(hash, i%4)
		d.Join(hash, (i+1)%4)
	}
	if got := d.Users(); got != n {
		t.Errorf("%d users, want %d", got, n)
	}
	for i := range n {
		d.Leave(d.Hash(fmt.Sprintf("user-%d", i)), i%4)
	}
	if got := d.Users(); got != n {
		t.Errorf("%d users with one loop left, want %d", got, n)
	}
	for i := range n {
		d.Leave(d.Hash(fmt.Sprintf("user-%d", i)), (i+1)%4)
	}
	if got := d.Users(); got != 0 {
		t.Errorf("%d users after all have left", got)
	}
}

func TestDirectoryHash(t *testing.T) {
	d, other := NewDirectory(), NewDirectory()
	alice := d.Hash("alice")
	if d.Hash(string([]byte("alice"))) != alice || d.Hash("bob") == alice {
		t.Error("a user's hash is not the user's")
	}
	if other.Hash("alice") == alice {
		t.Error("two directories share a seed: a client could choose ids that collide")
	}
}

// Of two loops at which sessions of one user start at the same time at least one sees the other, or both would live.
func TestOfTwoLoopsThatJoinOneSeesTheOther(t *testing.T) {
	const rounds = 5000
	d := NewDirectory()
	hash := d.Hash("alice")
	var bothSaw int
	for round := range rounds {
		var masks [2]uint64
		var ready, done sync.WaitGroup
		ready.Add(2)
		for loop := range 2 {
			done.Go(func() {
				ready.Done()
				ready.Wait()
				masks[loop] = d.Join(hash, loop)
			})
		}
		done.Wait()
		if masks[0]&0b10 == 0 && masks[1]&0b01 == 0 {
			t.Fatalf("round %d: neither saw the other", round)
		}
		if masks[0] == 0b11 && masks[1] == 0b11 {
			bothSaw++
		}
		for loop := range 2 {
			if masks[loop]&(1<<loop) == 0 {
				t.Fatalf("round %d: loop %d does not see itself", round, loop)
			}
			d.Leave(hash, loop)
		}
	}
	if bothSaw != 0 {
		t.Errorf("in %d rounds both saw the other: one of them saw a bit before it was set", bothSaw)
	}
	if got := d.Users(); got != 0 {
		t.Errorf("%d users are left", got)
	}
}

// Each loop changes its own bit only, whatever the others do to theirs at the same time.
func TestDirectoryAgainstModels(t *testing.T) {
	const loops, steps = 4, 20_000
	d := NewDirectory()
	models := make([]map[uint64]bool, loops)
	var done sync.WaitGroup
	for loop := range loops {
		models[loop] = make(map[uint64]bool)
		done.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(loop)))
			for range steps {
				hash := rng.Uint64N(97)
				if rng.IntN(2) == 0 {
					models[loop][hash] = d.Join(hash, loop)&(1<<loop) != 0
				} else {
					d.Leave(hash, loop)
					delete(models[loop], hash)
				}
				if got := d.Loops(hash)&(1<<loop) != 0; got != models[loop][hash] {
					t.Errorf("loop %d: bit is %v, want %v", loop, got, models[loop][hash])
					return
				}
			}
		})
	}
	done.Wait()
	users := make(map[uint64]bool)
	for _, m := range models {
		for hash := range m {
			users[hash] = true
		}
	}
	if got := d.Users(); got != len(users) {
		t.Errorf("%d users, want %d", got, len(users))
	}
}
