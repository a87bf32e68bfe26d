package route

import "hash/fnv"

// Buckets is the number of parts the table is cut into. The records of one bucket live on one server of a Redis Cluster.
const Buckets = 64

// Bucket returns the part of the table that has the user's records. It is the same on every node, for ever.
func Bucket(user string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(user))
	sum := h.Sum64()
	return int((sum ^ sum>>32) % Buckets)
}

// Generations has a random number for each bucket, drawn when the bucket was found empty; 0 = none. While a bucket's
// generation is the one a node has registered all its sessions under, and no write of the node has failed since, the
// bucket has all of them.
type Generations [Buckets]uint64

// Whole reports whether no bucket lacks a generation.
func (g *Generations) Whole() bool {
	for _, n := range g {
		if n == 0 {
			return false
		}
	}
	return true
}
