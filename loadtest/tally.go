package loadtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tally counts by name: of a code, or of what kept this side from connecting.
type Tally map[string]uint64

func (t *Tally) add(name string, n uint64) {
	if *t == nil {
		*t = Tally{}
	}
	(*t)[name] += n
}

func (t *Tally) merge(other Tally) {
	for name, n := range other {
		t.add(name, n)
	}
}

func (t Tally) total() uint64 {
	var sum uint64
	for _, n := range t {
		sum += n
	}
	return sum
}

// String lists the names, the most frequent first.
func (t Tally) String() string {
	names := slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		return cmp.Or(cmp.Compare(t[b], t[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, t[name])
	}
	return strings.Join(names, ", ")
}
