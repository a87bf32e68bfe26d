package client

import (
	"slices"
	"time"

	"lifeline/protocol"
)

// request is something that the app waits for.
type request interface {
	comparable
	finish(err error) // called once
}

// requests are those of one kind, made one at a time, and again on the next connection if need be [P-4.4]. It is a
// value with no clock of its own.
type requests[R request] struct {
	random func() float64

	queue    []R    // one for each caller that waits, so they bound it
	id       uint64 // of the unanswered request; 0: none
	refusals int    // of the first of the queue
	hold     time.Time
}

func (r *requests[R]) connected() { r.id, r.refusals, r.hold = 0, 0, time.Time{} }

// ready reports whether the first of the queue may be made now. The caller then sets id.
func (r *requests[R]) ready(now time.Time) bool {
	return len(r.queue) > 0 && r.id == 0 && !now.Before(r.hold)
}

// due is when the first of the queue may be made; zero: not known.
func (r *requests[R]) due() time.Time {
	if len(r.queue) == 0 || r.id != 0 {
		return time.Time{}
	}
	return r.hold
}

// take returns the request that an answer with this id is for.
func (r *requests[R]) take(id uint64) (first R, ok bool) {
	if id != r.id || id == 0 {
		return first, false
	}
	r.id = 0
	return r.queue[0], true
}

// refused takes a refusal: final, or for now, as its class says [P-5.1].
func (r *requests[R]) refused(now time.Time, f *protocol.Error) {
	if _, ok := r.take(f.ID); !ok {
		return
	}
	if final(&f.Status) {
		r.finish(&RefusedError{Status: f.Status})
		return
	}
	r.hold = now.Add(again(&f.Status, r.refusals, r.random))
	r.refusals++
}

// finish ends the first of the queue.
func (r *requests[R]) finish(err error) {
	r.queue[0].finish(err)
	r.queue = r.queue[1:]
	r.refusals = 0
}

// finishAll ends them all.
func (r *requests[R]) finishAll(err error) {
	for len(r.queue) > 0 {
		r.finish(err)
	}
}

// forget drops a request that nobody waits for any more. An answer that still comes finds none.
func (r *requests[R]) forget(q R) {
	i := slices.Index(r.queue, q)
	if i == 0 {
		r.id, r.refusals = 0, 0
	}
	if i >= 0 {
		r.queue = slices.Delete(r.queue, i, i+1)
	}
}
