package simulate

import "math/rand/v2"

// Moments and durations of the simulation are in milliseconds.
const (
	second = 1000
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// translation is what a network does with a segment from the phone for a connection that it has forgotten. A segment
// from the server is dropped by each kind.
type translation uint8

const (
	loose  translation = iota // remembers it again: the phone notices nothing
	strict                    // drops it
	resets                    // answers with a reset
)

// band is a share of the networks and the range of their lifetimes.
type band struct {
	share    float64
	from, to float64 // minutes of silence
}

// The mix. What the networks of a country do is not known; these shares are an assumption, in which most bear half an
// hour and some do not bear five minutes.
var (
	wifiBands = []band{{0.03, 1.7, 4}, {0.06, 4, 10}, {0.08, 10, 16.7}, {0.83, 30, 124}}
	cellBands = []band{{0.06, 1.7, 4}, {0.14, 4, 10}, {0.14, 10, 16.7}, {0.66, 17, 120}}
)

const (
	looseShare  = 0.60
	strictShare = 0.25  // the rest resets
	changesIn   = 120.0 // days until a network's lifetime is another, on average
	lifeJitter  = 0.03  // ± of one connection's lifetime
)

// network is one that a phone joins again and again.
type network struct {
	key     uint64
	before  mapping
	after   mapping // from changes on
	changes int64
}

// mapping is how a network treats connections.
type mapping struct {
	life int64 // of silence, after which it forgets the connection
	kind translation
}

func newNetwork(r *rand.Rand, key uint64, bands []band) network {
	return network{key: key, before: newMapping(r, bands), after: newMapping(r, bands), changes: int64(r.ExpFloat64() * changesIn * day)}
}

func newMapping(r *rand.Rand, bands []band) mapping {
	m := mapping{kind: resets}
	if x := r.Float64(); x < looseShare {
		m.kind = loose
	} else if x < looseShare+strictShare {
		m.kind = strict
	}
	b, x := bands[len(bands)-1], r.Float64()
	for _, candidate := range bands {
		if x < candidate.share {
			b = candidate
			break
		}
		x -= candidate.share
	}
	m.life = int64((b.from + (b.to-b.from)*r.Float64()) * minute)
	return m
}

// mapping returns what a connection made at t gets.
func (n *network) mapping(r *rand.Rand, t int64) mapping {
	m := n.before
	if t >= n.changes {
		m = n.after
	}
	m.life = int64(float64(m.life) * (1 + lifeJitter*(2*r.Float64()-1)))
	return m
}
