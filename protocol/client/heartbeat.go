package client

import (
	"time"

	"lifeline/protocol"
)

// The rules of waiting for a Pong.
const (
	pongLeast   = 5 * time.Second
	pongMost    = 10 * time.Second
	pongSlack   = 3 * time.Second
	pongRetry   = 7 * time.Second
	unknownBeat = time.Minute // until the server has granted one
)

// beat is what the heartbeat asks of the loop.
type beat uint8

const (
	beatRest beat = iota
	beatPing      // send a Ping
	beatDead      // the line is dead: reconnect
)

// heartbeat pings after a silence of its own [P-6.22] and gives up on a line that does not answer. It obeys the
// interval that the server grants, as far as the network bears it. It is a value with no clock of its own.
type heartbeat struct {
	random func() float64
	prober *Prober

	interval time.Duration // granted
	limit    time.Duration // of the silence that may be asked for, 0 = none
	lead     float64       // how much of the silence passes before the ping: drawn once per ping
	quiet    time.Time     // since when nothing was sent
	owed     int           // Pongs
	asked    time.Time     // when the first of them was asked for
	deadline time.Time     // for any sign of life
	retried  bool
	blurred  bool          // more than one is owed, so none can be timed
	srtt     time.Duration // 0: not measured
}

// start begins with a connection. The first ping comes at a random point of the whole interval, so that a storm of
// log-ins does not become a storm of pings.
func (h *heartbeat) start(now time.Time, f *protocol.Heartbeat) {
	h.take(f)
	h.quiet = now
	h.lead = h.random()
}

// take takes what a Connack or a Pong grants [P-6.24].
func (h *heartbeat) take(f *protocol.Heartbeat) {
	h.interval = time.Duration(f.IntervalS) * time.Second
	if h.interval == 0 {
		h.interval = unknownBeat
	}
	h.limit = time.Duration(f.EchoLimitS) * time.Second
	h.draw()
}

// draw puts the next ping at a random point in [0.9, 1] of the interval.
func (h *heartbeat) draw() {
	h.lead = 0.9 + 0.1*h.random()
}

// sent notes that a frame was sent, or that one came which will be acknowledged.
func (h *heartbeat) sent(now time.Time) { h.quiet = now }

// ask notes that a frame was sent that a Pong answers [P-6.25].
func (h *heartbeat) ask(now time.Time) {
	h.sent(now)
	h.draw()
	if h.owed == 0 {
		h.asked, h.deadline = now, now.Add(h.timeout())
	}
	h.blurred = h.owed > 0
	h.owed++
}

// pong takes an answer. Only a round trip with one question in it is measured.
func (h *heartbeat) pong(now time.Time) {
	if h.owed == 0 {
		return
	}
	if sample := now.Sub(h.asked); !h.blurred && h.srtt == 0 {
		h.srtt = sample
	} else if !h.blurred {
		h.srtt += (sample - h.srtt) / 8
	}
	h.owed--
	h.asked, h.deadline = now, now.Add(h.timeout())
	if h.owed == 0 {
		h.retried, h.blurred = false, false
	}
}

func (h *heartbeat) timeout() time.Duration {
	return min(max(4*h.srtt+pongSlack, pongLeast), pongMost)
}

// due is when check has something to do.
func (h *heartbeat) due() time.Time {
	if h.owed > 0 {
		return h.deadline
	}
	if at := h.prober.Due(); !at.IsZero() {
		return at
	}
	return h.quiet.Add(time.Duration(h.lead * float64(h.prober.Interval(h.interval))))
}

// check says what to do now. heard is when bytes last came: a line that is busy with a large frame is not dead, so the
// wait counts from there.
func (h *heartbeat) check(now, heard time.Time) beat {
	if now.Before(h.due()) {
		return beatRest
	}
	if h.owed == 0 {
		return beatPing
	}
	wait := h.timeout()
	if h.retried {
		wait = pongRetry
	}
	if alive := heard.Add(wait); heard.After(h.asked) && alive.After(now) {
		h.deadline = alive
		return beatRest
	}
	if h.retried {
		return beatDead
	}
	return beatPing
}

// retry notes that the ping was repeated.
func (h *heartbeat) retry(now time.Time) {
	h.sent(now)
	h.owed++
	h.retried, h.blurred, h.deadline = true, true, now.Add(pongRetry)
}
