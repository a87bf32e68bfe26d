package client

import (
	"context"
	"time"

	"lifeline/protocol"
)

// History is a range of a conversation. What is in neither Messages nor Gaps does not exist yet.
type History struct {
	FirstVisible uint64 // first Seq that the user may see
	Head         uint64 // last Seq of the conversation
	Messages     []Message
	Gaps         []protocol.Gap // ranges that will never come: not joined, hidden, trimmed
}

// pull is one range that the app waits for.
type pull struct {
	// Set at construction.
	conversation string
	to           uint64
	done         chan error // gets one value

	// Owned by the loop.
	from    uint64 // what is still missing begins here
	history History
}

func (q *pull) finish(err error) { q.done <- err }

// pulls asks for one range at a time [P-6.20], until it is whole [P-6.21].
type pulls struct{ requests[*pull] }

// next is the request to make now, nil if none. The caller then sets id.
func (p *pulls) next(now time.Time) *pull {
	if !p.ready(now) {
		return nil
	}
	return p.queue[0]
}

// pulled takes an answer.
func (p *pulls) pulled(f *protocol.Pulled) {
	q, ok := p.take(f.ID)
	if !ok {
		return
	}
	q.history.FirstVisible, q.history.Head = f.FirstVisible, f.Head
	q.history.Gaps = appendGaps(q.history.Gaps, f.Gaps)
	for i := range f.Messages {
		q.history.Messages = append(q.history.Messages, newMessage(0, &f.Messages[i]))
	}
	if f.More && len(f.Messages) > 0 && f.Messages[len(f.Messages)-1].Seq < q.to {
		q.from = max(q.from, f.Messages[len(f.Messages)-1].Seq) + 1
		return
	}
	p.finish(nil)
}

// appendGaps adds gaps that a second answer may repeat.
func appendGaps(have, more []protocol.Gap) []protocol.Gap {
	for _, g := range more {
		if n := len(have); n > 0 && have[n-1].ToSeq >= g.ToSeq {
			continue
		}
		have = append(have, g)
	}
	return have
}

// Pull fetches the messages of a conversation from Seq from to Seq to, at most 100, both included. Any goroutine. It
// waits for a connection if there is none, and returns a [RefusedError] for a range that the server will not give.
// Messages that OnMessage has had come again here.
func (c *Client) Pull(ctx context.Context, conversation string, from, to uint64) (History, error) {
	q := &pull{conversation: conversation, from: from, to: to, done: make(chan error, 1)}
	if !c.post(func(l *loop) { l.pulls.queue = append(l.pulls.queue, q) }) {
		return History{}, ErrStopped
	}
	select {
	case err := <-q.done:
		return q.history, err
	case <-ctx.Done():
		c.post(func(l *loop) { l.pulls.forget(q) })
		return History{}, ctx.Err()
	}
}
