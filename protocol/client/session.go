package client

import (
	"time"

	"lifeline/protocol"
)

// session is what belongs to one accepted connection and ends with it. Owned by the loop.
type session struct {
	// Set at construction.
	connection *connection
	host       string
	since      time.Time
	serverLead time.Duration // the server's clock minus ours
	window     int           // entries that the server may have in flight
	// A frame with a larger payload would end the connection, again and again.
	payloadMost int

	heartbeat heartbeat
	acks      acks
	renewal   renewal
	gap       time.Duration   // silence before the unanswered question, 0 = nobody knows
	nextID    uint64          // of requests
	held      protocol.Status // the refusal for which messages wait; code 0: none
	close     *protocol.Close
	fault     error // why we give the connection up
}

// newSession opens a session.
func (l *loop) newSession(now time.Time, o *outcome) *session {
	f := o.connack
	s := &session{
		connection:  o.connection,
		host:        o.attempt.host,
		since:       now,
		serverLead:  unixMilli(f.ServerTimeMs).Sub(now),
		window:      int(f.PushWindow),
		payloadMost: int(f.Limits.MaxPayload),
		heartbeat:   heartbeat{random: l.c.random, prober: l.prober},
		renewal:     renewal{random: l.c.random},
		acks: acks{
			delay:     time.Duration(f.Limits.AckDelayMs) * time.Millisecond,
			every:     max(1, uint64(f.Limits.AckEvery)),
			acked:     f.Start,
			received:  f.Start,
			persisted: f.Start,
		},
	}
	l.prober.Connected()
	s.heartbeat.start(now, &f.Heartbeat)
	if f.TokenExpiryMs != 0 {
		s.renewal.expires(now, unixMilli(f.TokenExpiryMs).Sub(s.serverNow(now)))
	}
	return s
}

func (s *session) serverNow(now time.Time) time.Time { return now.Add(s.serverLead) }

// id rises from 1 on each connection [P-4.1].
func (s *session) id() uint64 {
	s.nextID++
	return s.nextID
}

// send queues a frame on the session's connection.
func (l *loop) send(now time.Time, f protocol.Frame) {
	l.prober.Frame()
	l.write(now, f)
}

// write is send for a Ping, of which the prober knows.
func (l *loop) write(now time.Time, f protocol.Frame) {
	l.c.o.Trace(true, f)
	l.session.connection.send(f)
	l.session.heartbeat.sent(now)
}

// received treats what came on the session's connection, in order.
func (l *loop) received(now time.Time, batch []protocol.Frame) {
	for _, f := range batch {
		if l.session == nil || l.session.close != nil {
			return
		}
		l.c.o.Trace(false, f)
		l.frame(now, f)
	}
}

func (l *loop) frame(now time.Time, f protocol.Frame) {
	s := l.session
	switch f := f.(type) {
	case *protocol.Pong:
		l.ponged(now, f)
		return
	case *protocol.Echo:
		l.echoed(now)
		return
	}
	l.prober.Frame()
	switch f := f.(type) {
	case *protocol.Probe: // [P-6.27]
		l.send(now, &protocol.ProbeAck{})
	case *protocol.Push:
		l.pushedLate(now, f)
		l.pushed(now, f)
	case *protocol.Sendack:
		l.sendacked(now, f)
	case *protocol.Pulled:
		l.pulls.pulled(f)
	case *protocol.PresenceList:
		l.inquiries.answered(f)
	case *protocol.Result:
		s.renewal.answered(now, f, s.serverNow(now))
	case *protocol.Error:
		l.refused(now, f)
	case *protocol.Close:
		s.close = f
	default:
		s.fault = errFirst
	}
}

// pushed gives new entries to the app.
func (l *loop) pushed(now time.Time, f *protocol.Push) {
	s := l.session
	s.heartbeat.sent(now) // an Ack follows [P-6.22]
	before := l.gate
	fresh := make([]received, 0, len(f.Entries))
	for i := range f.Entries {
		e := &f.Entries[i]
		switch l.gate.check(e) {
		case admit:
			fresh = append(fresh, received{entry: *e})
		case repeat:
			l.receiver.addDuplicates(1)
		case hole:
			l.gate, s.fault = before, errHole
			return
		}
		s.acks.came(now, lastPos(e))
	}
	if l.leaving != nil {
		return
	}
	if !l.receiver.add(fresh, 4*max(s.window, batchMost)) {
		l.gate, s.fault = before, errOverrun
	}
}

func (l *loop) sendacked(now time.Time, f *protocol.Sendack) {
	m := l.c.sender.answered(now, f.ID, &f.Status)
	if held := l.c.sender.held(); held.Code != l.session.held.Code && l.leaving == nil {
		l.session.held = held
		l.reportOnline()
	}
	if m == nil {
		return
	}
	sent := Sent{Message: m, Seq: f.Seq, ID: messageID(f.MessageID), Time: unixMilli(f.TimeMs)}
	if f.Status.Failed() {
		sent = Sent{Message: m, Err: &RefusedError{Status: f.Status}}
	}
	l.settled(sent)
}

// settled takes a message out of the outbox and tells the app.
func (l *loop) settled(sent Sent) {
	l.gone = append(l.gone, sent.Message.ClientID)
	l.c.release()
	l.c.o.OnSent(sent)
}

// refused takes the refusal of a request.
func (l *loop) refused(now time.Time, f *protocol.Error) {
	switch protocol.Type(f.FrameType) {
	case protocol.TypeSend:
		l.sendacked(now, &protocol.Sendack{ID: f.ID, Status: f.Status})
	case protocol.TypePull:
		l.pulls.refused(now, f)
	case protocol.TypePresence:
		l.inquiries.refused(now, f)
	case protocol.TypeReauth:
		l.session.renewal.answered(now, &protocol.Result{ID: f.ID, Status: f.Status}, l.session.serverNow(now))
	}
}

// beat pings, or gives the line up.
func (l *loop) beat(now time.Time) {
	s := l.session
	switch s.heartbeat.check(now, s.connection.heardAt()) {
	case beatPing:
		if s.heartbeat.owed == 0 {
			l.ping(now)
			return
		}
		l.send(now, &protocol.Ping{})
		s.heartbeat.retry(now)
	case beatDead:
		s.fault = errSilent
		l.lineDied(now)
	case beatRest:
	}
}

// sendDue sends what may be sent now: messages, one request for history, one for presence, and the acknowledgement.
func (l *loop) sendDue(now time.Time) {
	s := l.session
	for p := l.c.sender.next(now); p != nil; p = l.c.sender.next(now) {
		id := s.id()
		l.c.sender.sent(p, id)
		if len(p.message.Payload) > s.payloadMost {
			l.sendacked(now, &protocol.Sendack{ID: id, Status: protocol.CodePayloadTooLarge.Status()})
			continue
		}
		l.send(now, p.message.frame(id, p.skipOrder))
	}
	if q := l.pulls.next(now); q != nil {
		l.pulls.id = s.id()
		l.send(now, &protocol.Pull{ID: l.pulls.id, Conversation: []byte(q.conversation), FromSeq: q.from, ToSeq: q.to})
	}
	if users := l.inquiries.next(now); users != nil {
		l.inquiries.id = s.id()
		l.send(now, &protocol.Presence{ID: l.inquiries.id, Users: users})
	}
	if pos, ok := s.acks.take(now, false); ok {
		l.send(now, &protocol.Ack{Pos: pos, HasPos: true})
	}
	if s.renewal.fetch(now) {
		l.renew(s)
	}
}

// renew calls the token callback off the loop, and sends what it brings if the session still lives then.
func (l *loop) renew(s *session) {
	l.helpers.Go(func() {
		token, err := l.c.o.Token(l.ctx, true)
		l.c.post(func(l *loop) {
			now := time.Now()
			s.renewal.fetched(now, err == nil)
			if err != nil || l.session != s {
				return
			}
			s.renewal.id = s.id()
			l.send(now, &protocol.Reauth{ID: s.renewal.id, Token: token})
		})
	})
}
