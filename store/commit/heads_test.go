package commit

import (
	"fmt"
	"testing"
)

// The least recently used idle heads go; those of batches that are not in yet stay, whatever the limit.
func TestHeads(t *testing.T) {
	var dropped []uint64
	h := newHeads(2, func(i *inbox) { dropped = append(dropped, i.pos) })
	use := func(batch uint64, names ...string) {
		for _, name := range names {
			if h.get([]byte(name), batch) == nil {
				h.add([]byte(name), inbox{pos: uint64(name[0])}, batch)
			}
		}
	}
	cached := func() (names string) {
		for _, name := range []string{"a", "b", "c", "d"} {
			if h.byName[name] != nil {
				names += name
			}
		}
		return names
	}
	use(1, "a", "b", "c", "a")
	if cached() != "abc" {
		t.Errorf("while batch 1 is built: %s", cached())
	}
	use(2, "a", "d") // batch 1 is being committed
	h.settle(1)
	if cached() != "ad" || fmt.Sprint(dropped) != "[98 99]" {
		t.Errorf("batch 1 is in, 2 is being committed: %s, dropped %v", cached(), dropped)
	}
	use(3, "b")
	h.settle(2)
	if cached() != "bd" { // a and d were idle, a longer
		t.Errorf("batch 2 is in, 3 is being committed: %s", cached())
	}
	use(4, "b", "d")
	h.settle(3)
	h.settle(4)
	if cached() != "bd" || h.get([]byte("b"), 5).value.pos != 'b' {
		t.Errorf("all are in: %s", cached())
	}
}

// A head that a batch changed has one place among the operations, and the next batch gives it another.
func TestChangedOncePerBatch(t *testing.T) {
	b := newBatch()
	h := &head[inbox]{partition: 3}
	b.number = 7
	changed(b, h)
	changed(b, h)
	if len(b.ops[3]) != 1 || b.keys != 1 {
		t.Errorf("%d places, %d keys", len(b.ops[3]), b.keys)
	}
	b.number = 8
	changed(b, h)
	if len(b.ops[3]) != 2 || h.place != 1 {
		t.Errorf("%d places, the last is %d", len(b.ops[3]), h.place)
	}
}
