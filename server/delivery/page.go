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
}

// appendPushes appends the Pushes that carry entries, each within the client's largest frame. A run of voids becomes one
// entry.
func (p *page) appendPushes(dst []byte, entries []store.Entry, q *Read) []byte {
	b := protocol.BeginPush(dst, q.MaxFrame)
	for i := 0; i < len(entries); {
		n := p.entryFrom(entries[i:], q)
		if !b.AddEntry(&p.entry) {
			if b.Len() > 0 {
				dst = b.End(true)
				b = protocol.BeginPush(dst, q.MaxFrame)
			}
			if !b.AddEntry(&p.entry) { // stored when the payload limit was larger: it goes out whole
				b = protocol.BeginPush(dst, protocol.MaxLength)
				b.AddEntry(&p.entry)
			}
		}
		i += n
	}
	return b.End(false)
}

// entryFrom sets p.entry to the first of entries, or to the run of voids they begin with, and returns how many it took.
func (p *page) entryFrom(entries []store.Entry, q *Read) (n int) {
	for n = 0; n < len(entries) && p.void(&entries[n], q); n++ {
	}
	if n > 0 {
		p.entry = protocol.Entry{Pos: entries[0].Pos, Kind: protocol.EntryVoid, Void: protocol.Void{To: entries[n-1].Pos}}
		return n
	}
	fillEntry(&p.entry, &entries[0], q.User)
	return 1
}

func (p *page) void(e *store.Entry, q *Read) bool {
	kind := kinds[e.Kind]
	return e.Void || kind == protocol.EntryNone || !capable(kind, q.Capabilities)
}

// appendPulled appends the Pulled that answers a Pull, within the client's largest frame.
func (p *page) appendPulled(dst []byte, h *store.HistoryPage, q *Read) []byte {
	p.pulled = protocol.Pulled{ID: q.Request, FirstVisible: h.FirstVisible, Head: h.Head, Gaps: p.pulled.Gaps[:0]}
	for _, g := range h.Gaps {
		p.pulled.Gaps = append(p.pulled.Gaps, protocol.Gap{FromSeq: g.From, ToSeq: g.To, Reason: gapReasons[g.Reason]})
	}
	b := protocol.BeginPulled(dst, q.MaxFrame, &p.pulled)
	more := h.More
	for _, m := range h.Messages {
		fillMessage(&p.message, m, m.Sender == q.User)
		if !b.Add(&p.message) {
			more = true
			break
		}
	}
	return b.End(more)
}
