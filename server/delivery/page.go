package delivery

import (
	"lifeline/protocol"
	"lifeline/store"
)

// page is what one reader goroutine encodes with. Owned by that goroutine.
type page struct {
	entry   protocol.Entry
	message protocol.Message
	pulled  protocol.Pulled
	pushes  int // frames of the last appendPushes
}

// appendPushes appends the Pushes that carry entries, each within the client's largest frame; more says that the inbox
// goes on behind them [P-1.7], [P-6.12]. A run of voids becomes one entry [P-6.13].
func (p *page) appendPushes(dst []byte, entries []store.Entry, more bool, q *Read) []byte {
	p.pushes = 1
	b := protocol.BeginPush(dst, q.MaxFrame)
	for i := 0; i < len(entries); {
		i += p.entryFrom(entries[i:], q)
		if b.AddEntry(&p.entry) {
			continue
		}
		if b.Len() > 0 {
			dst = p.endPush(&b)
			b = protocol.BeginPush(dst, q.MaxFrame)
		}
		if b.AddEntry(&p.entry) {
			continue
		}
		// Stored when the payload limit was larger: it goes out whole, in a frame of its own.
		b = protocol.BeginPush(dst, protocol.MaxLength)
		b.AddEntry(&p.entry)
		if i < len(entries) {
			dst = p.endPush(&b)
			b = protocol.BeginPush(dst, q.MaxFrame)
		}
	}
	return b.End(more)
}

// endPush ends a frame that another follows.
func (p *page) endPush(b *protocol.PushBatch) []byte {
	p.pushes++
	return b.End(true)
}

// entryFrom sets p.entry to the first of entries, or to the run of voids they begin with, and returns how many it took.
func (p *page) entryFrom(entries []store.Entry, q *Read) (n int) {
	for n < len(entries) && isVoid(&entries[n], q.Capabilities) {
		n++
	}
	if n > 0 {
		p.entry = voidEntry(entries[0].Pos, entries[n-1].Pos)
		return n
	}
	fillEntry(&p.entry, &entries[0], q.User)
	return 1
}

// isVoid reports whether there is nothing in the entry for a client with these capabilities.
func isVoid(e *store.Entry, capabilities uint32) bool {
	kind := kinds[e.Kind]
	return e.Void || kind == protocol.EntryNone || !capable(kind, capabilities)
}

// appendPulled appends the Pulled that answers a Pull, within the client's largest frame. The client pulls again above
// the last message it gets, so no gap may be in it that lies above a message left out; and at least one message goes out,
// whatever its size, or the client would never come past it [P-6.21].
func (p *page) appendPulled(dst []byte, h store.HistoryPage, q *Read) []byte {
	limit := q.MaxFrame
	for {
		b := p.beginPulled(dst, limit, &h, q)
		n := p.addMessages(&b, h.Messages, q)
		if n == len(h.Messages) {
			return b.End(h.More)
		}
		if n == 0 {
			n, limit = 1, protocol.MaxLength
		}
		h = firstMessages(h, n)
	}
}

func (p *page) beginPulled(dst []byte, limit int, h *store.HistoryPage, q *Read) protocol.PulledBatch {
	p.pulled = protocol.Pulled{ID: q.Request, FirstVisible: h.FirstVisible, Head: h.Head, Gaps: p.pulled.Gaps[:0]}
	for _, g := range h.Gaps {
		p.pulled.Gaps = append(p.pulled.Gaps, protocol.Gap{FromSeq: g.From, ToSeq: g.To, Reason: gapReasons[g.Reason]})
	}
	return protocol.BeginPulled(dst, limit, &p.pulled)
}

// addMessages adds messages until one does not fit and returns how many did.
func (p *page) addMessages(b *protocol.PulledBatch, messages []*store.Message, q *Read) int {
	for i, m := range messages {
		fillMessage(&p.message, m, m.Sender == q.User)
		if !b.Add(&p.message) {
			return i
		}
	}
	return len(messages)
}

// firstMessages cuts a page behind its first n messages.
func firstMessages(h store.HistoryPage, n int) store.HistoryPage {
	if n == len(h.Messages) {
		return h
	}
	end := h.Messages[n].Seq
	h.Messages, h.More = h.Messages[:n], true
	for len(h.Gaps) > 0 && h.Gaps[len(h.Gaps)-1].From > end {
		h.Gaps = h.Gaps[:len(h.Gaps)-1]
	}
	return h
}
