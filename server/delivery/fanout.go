package delivery

import (
	"math/bits"

	"lifeline/store"
)

// Poster brings items to a loop's mailbox. It must not block, and must not keep the slice.
type Poster interface {
	Deliver(loop int, items []Item)
}

// Fanout is the store's sink: every committed event becomes one item per recipient and loop, in commit order. Each
// mailbox keeps that order, so a user's positions arrive at a loop rising.
type Fanout struct {
	// Set at construction.
	dir   *Directory
	post  Poster
	now   func() int64 // node clock, nanoseconds
	watch func(e *store.Event, committed int64)

	// Owned by the committer's goroutine.
	byLoop [][]Item
}

// NewFanout returns a sink for that many loops. watch, called for each event, is for measurements.
func NewFanout(dir *Directory, loops int, post Poster, now func() int64, watch func(e *store.Event, committed int64)) *Fanout {
	return &Fanout{dir: dir, post: post, now: now, watch: watch, byLoop: make([][]Item, loops)}
}

// Committed implements store.Sink.
func (f *Fanout) Committed(batch []store.Event) {
	committed := f.now()
	for i := range batch {
		f.watch(&batch[i], committed)
		f.sort(&batch[i], committed)
	}
	for loop, items := range f.byLoop {
		if len(items) > 0 {
			f.post.Deliver(loop, items)
			clear(items)
			f.byLoop[loop] = items[:0]
		}
	}
}

// sort appends the event's items to the loops of its recipients; it is encoded only when someone may be there.
func (f *Fanout) sort(e *store.Event, committed int64) {
	var what *Encoded
	for _, r := range e.To {
		hash := f.dir.Hash(r.User)
		mask := f.dir.Loops(hash)
		if mask == 0 {
			continue
		}
		if what == nil {
			what = Encode(e, committed)
		}
		for ; mask != 0; mask &= mask - 1 {
			loop := bits.TrailingZeros64(mask)
			f.byLoop[loop] = append(f.byLoop[loop], Item{User: r.User, Hash: hash, Pos: r.Pos, What: what})
		}
	}
}
