package loadtest

import (
	"math"
	"math/bits"
)

// Steps of a histogram: each power of two is split in 128, so a value is known to 0.8 %.
const (
	stepBits    = 7
	steps       = 1 << stepBits
	highestBits = 41 // 2^41 ns are 36 minutes
)

// histogram counts durations in nanoseconds. The zero one is ready; recording allocates nothing.
type histogram struct {
	counts [(highestBits - stepBits + 1) * steps]uint64
	n      uint64
	max    int64
}

// record takes a duration. One below zero counts as zero, one above half an hour as half an hour.
func (h *histogram) record(ns int64) {
	ns = min(max(ns, 0), 1<<highestBits-1)
	h.counts[stepOf(ns)]++
	h.n++
	h.max = max(h.max, ns)
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// quantile is the smallest value that at least the part q of all values do not pass, rounded up to its step; 0 without
// values.
func (h *histogram) quantile(q float64) int64 {
	rank := max(1, uint64(math.Ceil(q*float64(h.n))))
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(topOf(i), h.max)
		}
	}
	return h.max
}

// stepOf is linear up to 2*steps, then has steps for each power of two.
func stepOf(ns int64) int {
	e := max(0, bits.Len64(uint64(ns))-1-stepBits)
	return e<<stepBits + int(ns>>e)
}

// topOf is the largest value of a step.
func topOf(i int) int64 {
	e := max(0, i>>stepBits-1)
	return int64(i-e<<stepBits+1)<<e - 1
}
