package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"lifeline/protocol"
)

// batchMost is how many entries are committed together. After a crash at most as many come again.
const batchMost = 64

// progress is what the receiver tells the loop.
type progress struct {
	resets int      // how many resets came before it: a position counts only behind the newest
	at     Progress // persisted
	reset  bool     // it is the list of the newest reset that is stored
	err    error    // the app failed: the client stops
}

// received is what the loop gives to the receiver: an entry, or a reset that makes what came before it useless.
type received struct {
	entry  protocol.Entry
	reset  *Reset
	resets int // of reset: how many there were, with this one
}

// receiver is the goroutine that calls the app and persists what it has handled. It lives as long as Run and outlives
// connections: an app that takes its time keeps nobody from pinging or reconnecting.
type receiver struct {
	// Set at construction.
	o      *Options
	report func(p progress)
	wake   chan struct{}
	ended  chan struct{} // closed when run has returned

	// Owned by run.
	epoch  Epoch
	resets int

	mu         sync.Mutex
	queue      []received // Guarded by mu.
	stopping   bool       // Guarded by mu.
	duplicates uint64     // dropped because the app has them. Guarded by mu.
}

func newReceiver(o *Options, epoch Epoch, report func(progress)) *receiver {
	return &receiver{o: o, epoch: epoch, report: report, wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// add gives entries to the app, in order. It is false when more wait than a server may have in flight.
func (r *receiver) add(entries []received, most int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue)+len(entries) > most {
		return false
	}
	r.queue = append(r.queue, entries...)
	r.nudge()
	return true
}

// reset throws away what waits and gives the app a new beginning.
func (r *receiver) reset(to Reset, resets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue[:0:0], received{reset: &to, resets: resets})
	r.nudge()
}

// stop ends run after the message in hand.
func (r *receiver) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
	r.nudge()
}

// takeDuplicates returns the count of dropped messages and starts it anew.
func (r *receiver) takeDuplicates() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.duplicates
	r.duplicates = 0
	return n
}

func (r *receiver) addDuplicates(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.duplicates += n
}

func (r *receiver) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *receiver) run(ctx context.Context) {
	defer close(r.ended)
	for range r.wake {
		for {
			batch, stopping := r.take()
			if stopping {
				return
			}
			if len(batch) == 0 {
				break
			}
			if err := r.handle(ctx, batch); err != nil {
				r.report(progress{resets: r.resets, err: err})
				return
			}
		}
	}
}

// take returns a reset, or the entries before the next one.
func (r *receiver) take() (batch []received, stopping bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for n < len(r.queue) && n < batchMost && (n == 0 || r.queue[n].reset == nil && r.queue[0].reset == nil) {
		n++
	}
	batch, r.queue = r.queue[:n:n], r.queue[n:]
	return batch, r.stopping
}

func (r *receiver) isStopping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping
}

func (r *receiver) handle(ctx context.Context, batch []received) error {
	if to := batch[0].reset; to != nil {
		return r.begin(ctx, *to, batch[0].resets)
	}
	ids, pos, err := r.entries(batch)
	if err != nil && pos == 0 {
		return err
	}
	if fault := r.o.Inbox.Commit(ids, pos); fault != nil {
		return errors.Join(err, fmt.Errorf("store position %d: %w", pos, fault))
	}
	r.report(progress{resets: r.resets, at: Progress{Epoch: r.epoch, Pos: pos}})
	return err
}

// entries gives entries to the app, until one fails or the app leaves. It returns the ids of the messages among them and
// the last position that the app has done with, 0 for none.
func (r *receiver) entries(batch []received) (ids []MessageID, pos uint64, err error) {
	for i := range batch {
		e := &batch[i].entry
		if pos != 0 && r.isStopping() {
			return ids, pos, nil
		}
		id, handled, err := r.entry(e, ids)
		if err != nil {
			return ids, pos, fmt.Errorf("handle position %d: %w", e.Pos, err)
		}
		if !handled {
			r.addDuplicates(1)
		} else if id != (MessageID{}) {
			ids = append(ids, id)
		}
		pos = lastPos(e)
	}
	return ids, pos, nil
}

// entry gives one entry to the app. handled is false for a message that the app has, or has just been given in batch
// [P-6.10].
func (r *receiver) entry(e *protocol.Entry, batch []MessageID) (id MessageID, handled bool, err error) {
	switch e.Kind {
	case protocol.EntryVoid, protocol.EntryNone:
		return id, true, nil
	case protocol.EntryMessage:
	default:
		return id, true, r.o.OnEntry(e)
	}
	id = messageID(e.Message.MessageID)
	seen, err := r.o.Inbox.Seen(id)
	if err != nil || seen || slices.Contains(batch, id) {
		return MessageID{}, false, err
	}
	return id, true, r.o.OnMessage(newMessage(e.Pos, &e.Message))
}

func (r *receiver) begin(ctx context.Context, to Reset, resets int) error {
	if err := r.o.OnReset(ctx, to); err != nil {
		return fmt.Errorf("reset at position %d: %w", to.Pos, err)
	}
	if err := r.o.Inbox.Reset(to.Progress); err != nil {
		return fmt.Errorf("store position %d: %w", to.Pos, err)
	}
	r.epoch = to.Epoch
	r.resets = resets
	r.report(progress{resets: r.resets, at: to.Progress, reset: true})
	return nil
}
