package server

import (
	"lifeline/protocol"
	"lifeline/server/session"
)

// stage gathers what one callback writes to one connection, so that it goes out in one Write.
type stage struct {
	conn session.ConnID
	buf  []byte
}

// spareStages bounds the emptied buffers a loop keeps, spareBytes the size of one.
const (
	spareStages = 256
	spareBytes  = 16 << 10
)

// stagedMost is how many bytes of frames a burst may stage before they are written: a message to a large group is staged
// once for each of its members.
const stagedMost = 4 << 20

// out returns the buffer to which bytes for the connection are appended. It is valid until the next call.
func (sh *Shard) out(s *session.Session) *[]byte {
	if s.Stage == 0 {
		var buf []byte
		if n := len(sh.spare); n > 0 {
			buf, sh.spare = sh.spare[n-1], sh.spare[:n-1]
		}
		sh.stages = append(sh.stages, stage{s.ID, buf})
		s.Stage = uint32(len(sh.stages))
	}
	return &sh.stages[s.Stage-1].buf
}

// outFrames stages whole frames.
func (sh *Shard) outFrames(s *session.Session, frames []byte) {
	out := sh.out(s)
	*out = append(*out, frames...)
	sh.staged += len(frames)
}

// relieve writes what a burst has staged so far, if that is much.
func (sh *Shard) relieve() {
	if sh.staged > stagedMost {
		sh.flush()
	}
}

// flush writes what was staged, then closes what was condemned. Closing calls Closed, which may condemn nothing more
// than itself, so both loops end.
func (sh *Shard) flush() {
	for i := 0; i < len(sh.stages); i++ {
		st := &sh.stages[i]
		if s := sh.slab.Get(st.conn); s != nil {
			s.Stage = 0
			sh.write(s, st.buf)
		}
		if len(sh.spare) < spareStages && cap(st.buf) <= spareBytes {
			sh.spare = append(sh.spare, st.buf[:0])
		}
		*st = stage{}
	}
	sh.stages, sh.staged = sh.stages[:0], 0
	for i := 0; i < len(sh.doomed); i++ {
		if s := sh.slab.Get(sh.doomed[i]); s != nil {
			sh.loop.Close(sh.conns.of(s))
		}
	}
	sh.doomed = sh.doomed[:0]
}

func (sh *Shard) write(s *session.Session, buf []byte) {
	if s.State == session.Dead || len(buf) == 0 {
		return
	}
	if s.Has(session.Traced) {
		sh.traceOut(s, buf)
	}
	conn := sh.conns.of(s)
	if conn.OutboundBuffered()+len(buf) > session.OutboundMax {
		sh.condemn(s, protocol.CodeSlowConsumer)
		return
	}
	if _, err := conn.Write(buf); err != nil {
		return // Closed has run
	}
	if sh.noteUnsent(s, len(buf)) > 0 {
		sh.soon(s, shortly(sh.clock.Now()))
	}
	if s.State == session.Closing {
		sh.shut(s)
	}
}
