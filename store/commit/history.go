package commit

import (
	"errors"
	"fmt"
	"slices"

	"lifeline/store"
)

// History reads a page of a conversation as one user may see it.
func (s *Store) History(r store.HistoryRead) (store.HistoryPage, error) {
	if !store.ValidID(r.User) || !store.ValidConversation(r.Conversation) {
		return store.HistoryPage{Refusal: store.InvalidID}, nil
	}
	for trimmed, head := uint64(forever), uint64(forever); ; {
		h := history{store: s, partition: partitionOf(r.Conversation), name: r.Conversation, room: r.MaxBytes}
		err := h.read(&r)
		hole := errors.Is(err, errHole) && h.trimmed != trimmed
		later := err == nil && h.page.FirstVisible > h.page.Head+1 && h.page.Head != head
		if !hole && !later {
			return h.page, err
		}
		trimmed, head = h.trimmed, h.page.Head // if they move, a trim or a joining came between two reads
	}
}

// history fills one page.
type history struct {
	store     *Store
	partition uint8
	name      string
	trimmed   uint64
	room      int
	page      store.HistoryPage
}

func (h *history) read(r *store.HistoryRead) error {
	conv, err := h.store.readConversation(h.partition, h.name)
	if err != nil {
		return err
	}
	visible, refusal, err := h.visible(r.User, &conv)
	if refusal != store.None || err != nil {
		h.page.Refusal = refusal
		return err
	}
	h.trimmed = conv.trimmed
	h.page.Head, h.page.FirstVisible = conv.seq, firstVisible(visible, conv.trimmed)
	return h.walk(visible, max(r.From, 1), min(r.To, conv.seq))
}

// visible returns the spans of a user who is or was a member.
func (h *history) visible(user string, conv *conversation) (spans, store.Refusal, error) {
	if a, b, direct := store.Peers(h.name); direct {
		if user != a && user != b {
			return nil, store.NotMember, nil
		}
		return spans{{first: 1, last: forever}}, store.None, nil
	}
	if conv.version == 0 {
		return nil, store.NoSuchGroup, nil
	}
	var row spans
	found, err := h.store.read(appendMemberKey(nil, h.partition, h.name, user), func(value []byte) (err error) {
		row, err = parseSpans(nil, value)
		return err
	})
	if !found && err == nil {
		return nil, store.NotMember, nil
	}
	return row, store.None, err
}

// firstVisible returns the first Seq inside the spans that is not trimmed, 0 if there is none.
func firstVisible(visible spans, trimmed uint64) uint64 {
	for _, span := range visible {
		if first := max(span.first, trimmed+1); first <= span.last {
			return first
		}
	}
	return 0
}

// walk goes through the Seqs from..to: between the spans lie gaps, inside them first what is trimmed, then messages.
func (h *history) walk(visible spans, from, to uint64) error {
	for _, span := range visible {
		if span.last < from {
			continue
		}
		if span.first > to {
			break
		}
		h.gap(from, span.first-1, store.NotJoined)
		from = max(from, span.first)
		end := min(span.last, to)
		h.gap(from, min(h.trimmed, end), store.Trimmed)
		if err := h.messages(max(from, h.trimmed+1), end); err != nil || h.page.More {
			return err
		}
		if from = end + 1; from > to {
			return nil
		}
	}
	h.gap(from, to, store.NotJoined)
	return nil
}

func (h *history) gap(from, to uint64, reason store.GapReason) {
	if from <= to {
		h.page.Gaps = append(h.page.Gaps, store.Gap{From: from, To: to, Reason: reason})
	}
}

// messages reads from..to until the page is full.
func (h *history) messages(from, to uint64) error {
	if from > to {
		return nil
	}
	lower := appendMessageKey(nil, h.partition, h.name, from)
	upper := appendMessageKey(nil, h.partition, h.name, to+1)
	prefix := len(lower) - 8
	next := from
	like := &store.Message{}
	var failed error
	err := h.store.engine.Scan(lower, upper, func(key, value []byte) bool {
		if number(key[prefix:]) != next {
			return false
		}
		m := &store.Message{Conversation: h.name, Seq: next}
		if failed = keyError(key, parseMessage(m, slices.Clone(value), like)); failed != nil {
			return false
		}
		h.room -= len(m.Payload)
		if n := len(h.page.Messages); n == store.MaxHistory || n > 0 && h.room < 0 {
			h.page.More = true
			return false
		}
		h.page.Messages = append(h.page.Messages, m)
		like = m
		next++
		return true
	})
	switch {
	case err != nil:
		return err
	case failed != nil || h.page.More || next > to:
		return failed
	}
	return fmt.Errorf("%w: message %d of %q", errHole, next, h.name)
}
