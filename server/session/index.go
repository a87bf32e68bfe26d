package session

// Index finds the sessions of a user on one loop by the hash of the user's id; equal hashes share a chain, so what it
// finds must be confirmed against the stored id. Owned by the loop.
type Index struct {
	slab  *Slab
	arena *Arena
	heads map[uint64]uint32 // hash -> slot + 1
}

// NewIndex returns an empty index over a loop's slab and arena.
func NewIndex(slab *Slab, arena *Arena) *Index {
	return &Index{slab: slab, arena: arena, heads: make(map[uint64]uint32)}
}

// Add installs a session whose ids are set.
func (x *Index) Add(s *Session) {
	s.next = x.heads[s.UserHash]
	x.heads[s.UserHash] = s.ID.Slot() + 1
	s.Set(Indexed)
}

// Remove takes a session out and reports whether it was the last with its hash. It does nothing for a session that is
// not in the index.
func (x *Index) Remove(s *Session) (last bool) {
	if !s.Has(Indexed) {
		return false
	}
	s.Clear(Indexed)
	head := x.heads[s.UserHash]
	if head == s.ID.Slot()+1 {
		if s.next == 0 {
			delete(x.heads, s.UserHash)
			return true
		}
		x.heads[s.UserHash] = s.next
		return false
	}
	for at := head; at != 0; {
		p := x.slab.at(at - 1)
		if p.next == s.ID.Slot()+1 {
			p.next = s.next
			return false
		}
		at = p.next
	}
	panic("session: an indexed session is missing from its chain")
}

// User returns the user id of a session whose ids are set; it must not leave the loop.
func (x *Index) User(s *Session) []byte { return x.arena.Bytes(s.ids, int(s.userLen)) }

// Device returns the device id of a session whose ids are set; it must not leave the loop.
func (x *Index) Device(s *Session) []byte {
	return x.arena.Bytes(s.ids, int(s.userLen)+int(s.deviceLen))[s.userLen:]
}

// SetIDs keeps a session's two ids, each at most 64 bytes.
func (x *Index) SetIDs(s *Session, user, device []byte) error {
	ref, err := x.arena.Put(user, device)
	if err != nil {
		return err
	}
	s.ids, s.userLen, s.deviceLen = ref, uint8(len(user)), uint8(len(device))
	return nil
}

// ReleaseIDs gives the ids' memory back; it does nothing when none are set.
func (x *Index) ReleaseIDs(s *Session) {
	if s.ids != 0 {
		x.arena.Release(s.ids)
		s.ids = 0
	}
}

// First returns the first session whose user has that hash, or nil; Next goes on.
func (x *Index) First(hash uint64) *Session {
	if at := x.heads[hash]; at != 0 {
		return x.slab.at(at - 1)
	}
	return nil
}

// Next returns the session after s with the same hash, or nil.
func (x *Index) Next(s *Session) *Session {
	if s.next != 0 {
		return x.slab.at(s.next - 1)
	}
	return nil
}

// Is reports whether the session belongs to that user.
func (x *Index) Is(s *Session, user string) bool { return string(x.User(s)) == user }
