package commit

import "encoding/binary"

// Looking for a client id that is new costs a search through everything that was written lately, more than all else that
// a send does. So a cached conversation knows the client ids of its dedup rows, as far as that is cheap.
const (
	scanPerSearch = 64      // rows that a scan may read for each search that it would have saved
	maxClients    = 4096    // known of one conversation
	maxAllClients = 2 << 20 // and of all
)

// talk is a cached conversation: its head and what is known of its client ids.
type talk struct {
	conversation
	clients clients
}

// clients is which client ids a conversation may have had: of none of the others is there a dedup row. Owned by the
// committer.
type clients struct {
	known    map[uint64]struct{} // the first bytes of the hashes
	complete bool
	searches int // made because it is not complete
}

// isNew reports that there is no dedup row of that hash.
func (c *committer) isNew(conv *head[talk], hash *[16]byte) (bool, error) {
	k := &conv.value.clients
	if !k.complete {
		if err := c.learn(conv); err != nil {
			return false, err
		}
	}
	if !k.complete {
		k.searches++
		return false, nil
	}
	_, known := k.known[fingerprint(hash)]
	return !known, nil
}

// learn reads the rows of a conversation, when the searches made so far are worth it.
func (c *committer) learn(conv *head[talk]) error {
	k := &conv.value.clients
	most := scanPerSearch * (1 + k.searches)
	switch {
	case conv.value.seq == 0:
		most = 0
	case most > maxClients || k.searches&(k.searches-1) != 0 || c.clients >= maxAllClients:
		return nil
	}
	known := map[uint64]struct{}{}
	if most > 0 {
		from := appendOwned(nil, conv.partition, spaceConversation, conv.name, tableDedup)
		to := appendOwned(nil, conv.partition, spaceConversation, conv.name, tableDedup+1)
		prefix := len(from)
		all := true
		err := c.engine.Scan(from, to, func(key, _ []byte) bool {
			all = len(known) < most
			known[binary.BigEndian.Uint64(key[prefix:])] = struct{}{}
			return all
		})
		if err != nil || !all {
			return err
		}
	}
	c.addUnsettled(known, conv.name)
	k.known, k.complete = known, true
	c.clients += len(known)
	return nil
}

// addUnsettled adds the rows of batches that are not in yet, which a scan does not see.
func (c *committer) addUnsettled(known map[uint64]struct{}, name string) {
	for _, b := range [...]*batch{c.batch, c.flying} {
		if b == nil {
			continue
		}
		for key := range b.dedup {
			if key.conversation == name {
				known[fingerprint(&key.hash)] = struct{}{}
			}
		}
	}
}

// know notes a row that is written.
func (c *committer) know(conv *head[talk], hash *[16]byte) {
	k := &conv.value.clients
	if !k.complete {
		return
	}
	if len(k.known) >= maxClients || c.clients >= maxAllClients {
		c.drop(&conv.value)
		k.searches = maxClients // do not try again
		return
	}
	before := len(k.known)
	k.known[fingerprint(hash)] = struct{}{}
	c.clients += len(k.known) - before
}

// drop is called when a conversation's head leaves the cache.
func (c *committer) drop(t *talk) {
	c.clients -= len(t.clients.known)
	t.clients = clients{}
}

func fingerprint(hash *[16]byte) uint64 { return binary.BigEndian.Uint64(hash[:]) }
