package loadtest

import (
	"fmt"
	"slices"

	"lifeline/protocol"
)

// stream is the verifier of what one device sees: the entries of its inbox, and in them the messages of one writer, who
// numbers them from 1. It is a value without a clock.
type stream struct {
	pos     uint64   // the last position
	seq     uint64   // the highest Seq
	number  uint64   // every number up to it has come, or is missing
	missing []uint64 // numbers that later ones have passed, rising; nearly always empty
	faults  Faults
}

// Faults counts what a verifier has found.
type Faults struct {
	Lost        uint64 `json:"lost"`         // stored, and never pushed to a device that was there
	OutOfOrder  uint64 `json:"out_of_order"` // came, or was put into its conversation, after a later one
	StoredTwice uint64 `json:"stored_twice"` // one message at two positions: its client id was not recognised
	Holes       uint64 `json:"holes"`        // a position came, and the one before had not
	Damaged     uint64 `json:"damaged"`      // not what its sender wrote, or not for this user
	Duplicates  uint64 `json:"duplicates"`   // a position that came again; allowed, and clients drop it
}

// Wrong tells whether the server broke a promise. Duplicates break none.
func (f *Faults) Wrong() bool { return f.Lost+f.OutOfOrder+f.StoredTwice+f.Holes+f.Damaged > 0 }

func (f *Faults) add(other *Faults) {
	f.Lost += other.Lost
	f.OutOfOrder += other.OutOfOrder
	f.StoredTwice += other.StoredTwice
	f.Holes += other.Holes
	f.Damaged += other.Damaged
	f.Duplicates += other.Duplicates
}

// String lists what there is.
func (f *Faults) String() string {
	return fmt.Sprintf("%d lost, %d out of order, %d stored twice, %d holes, %d damaged, %d duplicates",
		f.Lost, f.OutOfOrder, f.StoredTwice, f.Holes, f.Damaged, f.Duplicates)
}

// mostMissing is how many missing numbers are remembered. A number beyond them cannot have been sent.
const mostMissing = 1 << 20

// entry takes an inbox entry's positions. fresh is false when they have been passed; for a message that must then be told
// to message.
func (s *stream) entry(e *protocol.Entry) (fresh bool) {
	last := e.Pos
	if e.Kind == protocol.EntryVoid {
		last = e.Void.To
	}
	switch {
	case last < e.Pos:
		s.faults.Damaged++
		return false
	case last <= s.pos:
		if e.Kind != protocol.EntryMessage {
			s.faults.Duplicates++
		}
		return false
	case e.Pos > s.pos+1:
		s.faults.Holes++
	}
	s.pos = last
	return true
}

// message takes a message of the writer; fresh is what entry said of its position. It is true when the message had not
// come before.
func (s *stream) message(fresh bool, seq, number uint64) bool {
	i, late := slices.BinarySearch(s.missing, number)
	switch {
	case late:
		s.missing = slices.Delete(s.missing, i, i+1)
		s.faults.OutOfOrder++
		return true
	case !fresh:
		s.faults.Duplicates++
		return false
	case number == 0 || number > s.number+mostMissing:
		s.faults.Damaged++
		return false
	case number <= s.number:
		s.faults.StoredTwice++
		return false
	case seq <= s.seq:
		s.faults.OutOfOrder++
	}
	for n := s.number + 1; n < number; n++ {
		s.missing = append(s.missing, n)
	}
	s.number = number
	s.seq = max(s.seq, seq)
	return true
}

// behind counts the messages that are stored and have not come.
func (s *stream) behind(o *outbox) uint64 {
	var n uint64
	for _, number := range s.missing {
		if o.stored(number) {
			n++
		}
	}
	from := s.number + 1
	if o.base >= from {
		n += o.base - s.number
		from = o.base + 1
	}
	for ; from < o.next; from++ {
		if o.stored(from) {
			n++
		}
	}
	return n
}
