package commit

import (
	"encoding/binary"
	"math"
)

// forever is the last Seq of a present member's span.
const forever = math.MaxUint64

// span is a range of Seqs that a member may see.
type span struct{ first, last uint64 }

// spans is a member's row: rising, without the empty ones. A row without spans means that the user was a member only
// between two messages.
type spans []span

func (s spans) present() bool { return len(s) > 0 && s[len(s)-1].last == forever }

func (s spans) contains(seq uint64) bool {
	for _, span := range s {
		if span.first <= seq && seq <= span.last {
			return true
		}
	}
	return false
}

// join opens a span behind the head. A member who left and missed nothing goes on with the old one.
func (s spans) join(head uint64) spans {
	if n := len(s); n > 0 && s[n-1].last == head {
		s[n-1].last = forever
		return s
	}
	return append(s, span{first: head + 1, last: forever})
}

// leave closes the open span at the head.
func (s spans) leave(head uint64) spans {
	n := len(s)
	if s[n-1].first > head {
		return s[:n-1]
	}
	s[n-1].last = head
	return s
}

func (s spans) append(dst []byte) []byte {
	dst = append(dst, valueVersion)
	for _, span := range s {
		dst = binary.AppendUvarint(dst, span.first)
		if span.last == forever {
			span.last = 0 // which no span ends with
		}
		dst = binary.AppendUvarint(dst, span.last)
	}
	return dst
}

// parseSpans appends a row's spans to dst.
func parseSpans(dst spans, value []byte) (spans, error) {
	f := parse(value)
	for last := uint64(0); f.more(); {
		s := span{first: f.number(), last: f.number()}
		if s.last == 0 {
			s.last = forever
		}
		if s.first <= last || s.last < s.first {
			return dst, errMalformed
		}
		last = s.last
		dst = append(dst, s)
	}
	return dst, f.end()
}
