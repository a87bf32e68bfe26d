package session

import (
	"encoding/binary"
	"fmt"
)

// Ref is a place in an Arena: class (2 bits) and block number (30). 0 is no place.
type Ref uint32

// classes are the block sizes; two ids of 64 bytes fill the largest.
var classes = [...]int{16, 32, 64, 128}

const arenaChunk = 64 << 10

// Arena keeps the ids of one loop's sessions outside the Go heap, both of a session in one block. Freed blocks are
// reused oldest first. What Bytes returns must not leave the loop: another session may use the block next.
// Owned by the loop.
type Arena struct{ pools [len(classes)]pool }

type pool struct {
	chunks      [][]byte
	fresh       uint32 // blocks never used start here, from 1
	first, last uint32 // free list, threaded through the blocks
}

// Put stores two byte strings, at most 128 bytes together.
func (a *Arena) Put(user, device []byte) (Ref, error) {
	class := 0
	for class < len(classes) && len(user)+len(device) > classes[class] {
		class++
	}
	if class == len(classes) {
		return 0, fmt.Errorf("keep ids: %d bytes do not fit %d", len(user)+len(device), classes[class-1])
	}
	block, err := a.pools[class].take(classes[class])
	if err != nil {
		return 0, err
	}
	ref := Ref(class<<30) | Ref(block)
	mem := a.block(ref)
	copy(mem[copy(mem, user):], device)
	return ref, nil
}

// Bytes returns the first n bytes of a block, valid until Release.
func (a *Arena) Bytes(ref Ref, n int) []byte { return a.block(ref)[:n:n] }

// Release gives a block back.
func (a *Arena) Release(ref Ref) {
	p := &a.pools[ref>>30]
	block := uint32(ref) & (1<<30 - 1)
	binary.LittleEndian.PutUint32(a.block(ref), 0)
	if p.last != 0 {
		binary.LittleEndian.PutUint32(a.block(ref&^(1<<30-1)|Ref(p.last)), block)
	} else {
		p.first = block
	}
	p.last = block
}

func (a *Arena) block(ref Ref) []byte {
	size := classes[ref>>30]
	per := uint32(arenaChunk / size)
	n := uint32(ref)&(1<<30-1) - 1
	at := int(n%per) * size
	return a.pools[ref>>30].chunks[n/per][at : at+size : at+size]
}

func (p *pool) take(size int) (uint32, error) {
	per := uint32(arenaChunk / size)
	if n := p.first; n != 0 {
		at := int((n-1)%per) * size
		p.first = binary.LittleEndian.Uint32(p.chunks[(n-1)/per][at:])
		if p.first == 0 {
			p.last = 0
		}
		return n, nil
	}
	if p.fresh == uint32(len(p.chunks))*per {
		mem, err := offHeap(arenaChunk)
		if err != nil {
			return 0, fmt.Errorf("grow the arena: %w", err)
		}
		p.chunks = append(p.chunks, mem)
	}
	p.fresh++
	return p.fresh, nil
}
