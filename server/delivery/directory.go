package delivery

import (
	"hash/maphash"
	"sync"
)

const stripes = 64

// Directory tells on which loops a user may have sessions: user hash -> one bit per loop. A set bit is a hint to be
// confirmed on the loop; a clear one is proof. Its methods may be called from any goroutine, but only a loop itself
// sets and clears its bit.
type Directory struct {
	seed    maphash.Seed
	stripes [stripes]stripe
}

type stripe struct {
	mu    sync.RWMutex
	masks map[uint64]uint64
}

// NewDirectory returns an empty directory with a hash of its own.
func NewDirectory() *Directory {
	d := &Directory{seed: maphash.MakeSeed()}
	for i := range d.stripes {
		d.stripes[i].masks = make(map[uint64]uint64)
	}
	return d
}

// Hash returns the hash of a user's id in this directory.
func (d *Directory) Hash(user string) uint64 { return maphash.String(d.seed, user) }

// Join sets the loop's bit and returns the mask with it, in one step: of two loops that join the same hash at least
// one sees the other.
func (d *Directory) Join(hash uint64, loop int) (mask uint64) {
	s := &d.stripes[hash%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	mask = s.masks[hash] | 1<<loop
	s.masks[hash] = mask
	return mask
}

// Leave clears the loop's bit. The loop calls it when its last session with that hash has ended.
func (d *Directory) Leave(hash uint64, loop int) {
	s := &d.stripes[hash%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	if mask := s.masks[hash] &^ (1 << loop); mask != 0 {
		s.masks[hash] = mask
	} else {
		delete(s.masks, hash)
	}
}

// Loops returns the mask of loops that may have sessions of the user with that hash.
func (d *Directory) Loops(hash uint64) (mask uint64) {
	s := &d.stripes[hash%stripes]
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.masks[hash]
}

// Users returns the number of hashes with at least one bit set.
func (d *Directory) Users() (n int) {
	for i := range d.stripes {
		s := &d.stripes[i]
		s.mu.RLock()
		n += len(s.masks)
		s.mu.RUnlock()
	}
	return n
}
