package delivery

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"lifeline/protocol"
	"lifeline/store"
)

func seqMessage(seq uint64, payload int) *store.Message {
	m := testMessage(payload)
	m.Seq = seq
	return m
}

func pulled(t testing.TB, p *page, h store.HistoryPage, q *Read) (protocol.Pulled, int) {
	t.Helper()
	frames, lengths := decode[protocol.Pulled](t, p.appendPulled(nil, h, q))
	if len(frames) != 1 {
		t.Fatalf("%d frames", len(frames))
	}
	return frames[0], lengths[0]
}

func TestPulled(t *testing.T) {
	h := store.HistoryPage{FirstVisible: 3, Head: 20, Messages: []*store.Message{seqMessage(8, 5), seqMessage(9, 0)}, More: true,
		Gaps: []store.Gap{{From: 1, To: 2, Reason: store.NotJoined}, {From: 3, To: 6, Reason: store.Trimmed}, {From: 7, To: 7, Reason: store.Hidden}}}
	for _, tt := range []struct {
		user string
		own  bool
	}{{"alice", true}, {"bob", false}} {
		var p page
		got, _ := pulled(t, &p, h, &Read{User: tt.user, Request: 6, MaxFrame: testFrame})
		want := protocol.Pulled{ID: 6, FirstVisible: 3, Head: 20, More: true,
			Gaps: []protocol.Gap{{FromSeq: 1, ToSeq: 2, Reason: protocol.GapNotJoined}, {FromSeq: 3, ToSeq: 6, Reason: protocol.GapTrimmed},
				{FromSeq: 7, ToSeq: 7, Reason: protocol.GapHidden}},
			Messages: []protocol.Message{onWire(h.Messages[0], tt.own), onWire(h.Messages[1], tt.own)}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.user, got, want)
		}
	}
	var p page
	got, _ := pulled(t, &p, store.HistoryPage{Head: 4}, &Read{Request: 7, MaxFrame: testFrame})
	if want := (protocol.Pulled{ID: 7, Head: 4}); !reflect.DeepEqual(got, want) {
		t.Errorf("nothing to read: got %+v, want %+v", got, want)
	}
}

func TestPulledEndsAtTheLargestFrame(t *testing.T) {
	const large, whole = 400, testFrame + 1
	gap := func(from, to uint64) store.Gap { return store.Gap{From: from, To: to, Reason: store.NotJoined} }
	for _, tt := range []struct {
		name    string
		page    store.HistoryPage
		want    []uint64 // Seqs
		gaps    int
		more    bool
		tooLong bool
	}{
		{"all fits", store.HistoryPage{Messages: []*store.Message{seqMessage(1, large), seqMessage(2, 1)}}, []uint64{1, 2}, 0, false, false},
		{"all fits, the store has more", store.HistoryPage{Messages: []*store.Message{seqMessage(1, 1)}, More: true}, []uint64{1}, 0, true, false},
		{"the third does not fit", store.HistoryPage{Messages: []*store.Message{seqMessage(1, large), seqMessage(2, large), seqMessage(3, large)}}, []uint64{1, 2}, 0, true, false},
		{"a small one behind one that does not fit waits", store.HistoryPage{Messages: []*store.Message{seqMessage(1, large), seqMessage(2, whole), seqMessage(3, 1)}}, []uint64{1}, 0, true, false},
		{"the first is larger than a frame", store.HistoryPage{Messages: []*store.Message{seqMessage(1, whole), seqMessage(2, 1)}}, []uint64{1}, 0, true, true},
		{"the only one is larger than a frame", store.HistoryPage{Messages: []*store.Message{seqMessage(1, whole)}}, []uint64{1}, 0, false, true},
		{"gaps around what fits", store.HistoryPage{Gaps: []store.Gap{gap(1, 4), gap(6, 6), gap(8, 9)},
			Messages: []*store.Message{seqMessage(5, 1), seqMessage(7, 1)}}, []uint64{5, 7}, 3, false, false},
		{"a gap above one left out", store.HistoryPage{Gaps: []store.Gap{gap(1, 4), gap(6, 6), gap(8, 9), gap(11, 20)},
			Messages: []*store.Message{seqMessage(5, large), seqMessage(7, whole), seqMessage(10, 1)}}, []uint64{5}, 2, true, false},
		{"a gap above the first, which is larger than a frame", store.HistoryPage{Gaps: []store.Gap{gap(1, 4), gap(6, 6), gap(8, 9)},
			Messages: []*store.Message{seqMessage(5, whole), seqMessage(7, 1)}}, []uint64{5}, 2, true, true},
	} {
		var p page
		got, length := pulled(t, &p, tt.page, &Read{User: "bob", MaxFrame: testFrame})
		var seqs []uint64
		for _, m := range got.Messages {
			seqs = append(seqs, m.Seq)
		}
		if !reflect.DeepEqual(seqs, tt.want) || len(got.Gaps) != tt.gaps || got.More != tt.more {
			t.Errorf("%s: Seqs %v, %d gaps, more %v; want %v, %d, %v", tt.name, seqs, len(got.Gaps), got.More, tt.want, tt.gaps, tt.more)
		}
		if (length > testFrame) != tt.tooLong {
			t.Errorf("%s: %d bytes", tt.name, length)
		}
	}
}

// A client that obeys the protocol, pulling again above the last message while more is said, gets every message once and
// every gap, whatever the frames [P-6.21].
func TestPullingAgainFindsEverything(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	var p page
	for round := range 150 {
		all := randomHistory(rng)
		q := &Read{User: "bob", MaxFrame: 100 + rng.IntN(4000)}
		name := fmt.Sprintf("round %d, %d messages, max frame %d", round, len(all.Messages), q.MaxFrame)
		missing := make(map[uint64]bool)
		for seq := uint64(1); seq <= all.Head; seq++ {
			missing[seq] = true
		}
		messages := 0
		for from, more := uint64(1), true; more; {
			got, length := pulled(t, &p, above(all, from), q)
			if length > q.MaxFrame && len(got.Messages) != 1 {
				t.Fatalf("%s: %d messages in %d bytes", name, len(got.Messages), length)
			}
			for _, g := range got.Gaps {
				for seq := g.FromSeq; seq <= g.ToSeq; seq++ {
					delete(missing, seq)
				}
			}
			for i, m := range got.Messages {
				if want := onWire(all.Messages[messages], false); !reflect.DeepEqual(m, want) {
					t.Fatalf("%s: message %d:\n got %+v\nwant %+v", name, i, m, want)
				}
				delete(missing, m.Seq)
				messages++
				from = m.Seq + 1
			}
			if more = got.More; more && len(got.Messages) == 0 {
				t.Fatalf("%s: more is said and nothing came", name)
			}
			for seq := range missing {
				if seq < from {
					t.Fatalf("%s: Seq %d was passed over", name, seq)
				}
			}
		}
		if len(missing) > 0 || messages != len(all.Messages) {
			t.Fatalf("%s: %d messages came, %d Seqs never did", name, messages, len(missing))
		}
	}
}

// above is the part of a page from a Seq on.
func above(h store.HistoryPage, from uint64) store.HistoryPage {
	part := store.HistoryPage{FirstVisible: h.FirstVisible, Head: h.Head}
	for _, m := range h.Messages {
		if m.Seq >= from {
			part.Messages = append(part.Messages, m)
		}
	}
	for _, g := range h.Gaps {
		if g.To >= from {
			g.From = max(g.From, from)
			part.Gaps = append(part.Gaps, g)
		}
	}
	return part
}

func randomHistory(rng *rand.Rand) store.HistoryPage {
	var h store.HistoryPage
	for h.Head < uint64(1+rng.IntN(store.MaxHistory)) {
		if rng.IntN(4) == 0 {
			to := h.Head + 1 + rng.Uint64N(5)
			h.Gaps = append(h.Gaps, store.Gap{From: h.Head + 1, To: to, Reason: store.GapReason(1 + rng.IntN(3))})
			h.Head = to
			continue
		}
		h.Head++
		h.Messages = append(h.Messages, seqMessage(h.Head, rng.IntN(1<<uint(1+rng.IntN(12)))))
	}
	return h
}
