package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"syscall"
	"time"

	"lifeline/protocol"
)

// What the loop asks of the prober and tells it, in the order in which it happens on the connection.

// lateAfter is how old a push must be to say that the network had forgotten the connection.
const lateAfter = 10 * time.Second

// loadBounds makes a prober of what was kept. Without it the search begins anew, which costs some wake-ups, no more.
func (l *loop) loadBounds(now time.Time) {
	var known ProberState
	kept, err := l.c.o.Bounds.Load()
	if err == nil && len(kept) > 0 {
		err = json.Unmarshal(kept, &known)
	}
	if err != nil {
		l.c.o.Log.Warn("what was known of networks is lost", "error", err)
		known = ProberState{}
	}
	l.prober = NewProber(known, l.c.random)
	l.kept = encodeBounds(l.prober)
	l.joined(now)
}

func encodeBounds(p *Prober) []byte {
	state, _ := json.Marshal(p.State()) // numbers and booleans: never fails
	return state
}

// keepBounds stores what the prober has learned, if it has learned something.
func (l *loop) keepBounds() {
	state := encodeBounds(l.prober)
	if bytes.Equal(state, l.kept) {
		return
	}
	l.kept = state
	if err := l.c.o.Bounds.Save(state); err != nil {
		l.c.o.Log.Warn("what was learned of a network was not stored", "error", err)
	}
}

// joined says which network the device is on.
func (l *loop) joined(now time.Time) {
	l.prober.Join(l.network.Key, now)
	l.keepBounds()
}

// reported is the network as Connect names it.
func (l *loop) reported() protocol.Network {
	n := l.network
	low, high := l.prober.Bounds()
	n.LowS, n.HighS = uint32(low/time.Second), uint32(high/time.Second)
	return n
}

// echoLimit is the longest silence that may be asked for now, 0 = none. An app in the foreground is worth its pings, and
// iOS suspends one that is not. On a desktop the heartbeat is fixed. Without coverage a silence tells nothing.
func (l *loop) echoLimit() time.Duration {
	if l.lost || l.activity != protocol.Background || l.c.o.Platform == protocol.IOS || l.c.o.Platform == protocol.Desktop {
		return 0
	}
	return l.session.heartbeat.limit
}

// asking notes the silence before a question that a Pong answers. After a sleep of the device nobody knows what it was.
func (l *loop) asking(now time.Time) {
	s := l.session
	slept := l.sleep.noticed(now.Round(0).Sub(l.began.Round(0)), now.Sub(l.began))
	switch {
	case slept:
		l.prober.Frame()
		s.gap = 0
	case s.heartbeat.owed == 0:
		s.gap = now.Sub(s.connection.heardAt())
	}
}

// ping sends a Ping, which may ask for an Echo [P-6.26].
func (l *loop) ping(now time.Time) {
	s := l.session
	l.asking(now)
	c := l.prober.Ping(s.heartbeat.interval, l.echoLimit(), now)
	l.write(now, &protocol.Ping{EchoAfterS: uint32(c / time.Second)})
	s.heartbeat.ask(now)
	l.keepBounds()
}

// ponged takes a Pong.
func (l *loop) ponged(now time.Time, f *protocol.Pong) {
	h := &l.session.heartbeat
	asked := h.owed > 0
	h.pong(now)
	if f.HasHeartbeat {
		h.take(&f.Heartbeat)
	}
	if asked {
		l.prober.Pong(h.limit)
		l.keepBounds()
	}
}

// echoed takes an Echo. The Ping that follows proves to the server that it came; one that nobody waits for proves nothing.
func (l *loop) echoed(now time.Time) {
	awaited := !l.prober.Due().IsZero()
	l.prober.Echo(now)
	if awaited {
		l.ping(now)
	}
	l.keepBounds()
}

// pushedLate looks for a push that was sent during the silence before our own Ping and came only behind that.
func (l *loop) pushedLate(now time.Time, f *protocol.Push) {
	s := l.session
	if s.heartbeat.owed == 0 || s.gap == 0 || l.lost || len(f.Entries) == 0 || f.Entries[0].Kind != protocol.EntryMessage {
		return
	}
	age := s.serverNow(now).Sub(unixMilli(f.Entries[0].Message.TimeMs))
	if age < lateAfter || age > s.gap+now.Sub(s.heartbeat.asked) {
		return
	}
	l.prober.Delayed(s.gap, s.heartbeat.interval, now)
	s.gap = 0
	l.keepBounds()
}

// lineLost ends the session when nothing more comes.
func (l *loop) lineLost(now time.Time) {
	s := l.session
	s.fault = s.connection.lost()
	if s.heartbeat.owed > 0 && errors.Is(s.fault, syscall.ECONNRESET) {
		l.lineDied(now)
	}
}

// lineDied says that a question found the line dead.
func (l *loop) lineDied(now time.Time) {
	if l.lost || l.session.gap == 0 {
		return
	}
	l.prober.Died(l.session.gap, l.session.heartbeat.interval, now)
	l.keepBounds()
}

// sleep notices that the device slept, or that its clock was set.
type sleep struct{ lead time.Duration }

// noticed is told how much time has passed since some moment, by the clock on the wall and by the one that stands still
// in a sleep. It is true if they have parted since it was last asked.
func (s *sleep) noticed(wall, awake time.Duration) bool {
	before := s.lead
	s.lead = wall - awake
	return (s.lead - before).Abs() > trialSlept
}
