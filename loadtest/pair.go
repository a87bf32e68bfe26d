package loadtest

import "lifeline/protocol"

// The sender's place in a pair; receivers have those behind it.
const senderPlace = 0

// maxReceivers is how many devices of the receiving user a pair may have.
const maxReceivers = 2

// pair is a user who sends to another one, with all their devices on one loop. It judges what each device sees: the
// sender's, too, gets an entry for every message.
type pair struct {
	// Set at construction.
	traffic *traffic
	writer  uint64  // marks the pair's messages
	to      []byte  // the receiving user
	sender  *device // its place is senderPlace
	devices int     // of both users

	// Owned by the loop.
	out     outbox
	window  int   // unanswered Sends: the traffic's, or fewer if the server wants that
	due     int64 // when the next message is due, if the traffic has a rate
	streams [1 + maxReceivers]stream
	there   [1 + maxReceivers]bool // devices with a session
}

// open implements role.
func (p *pair) open(l *loop, d *device) {
	p.streams[d.place].pos = d.acks.got
	p.there[d.place] = true
	if d.place == senderPlace {
		p.window = p.traffic.window
		if most := int(l.frames.connack.Limits.UnansweredSends); most > 0 {
			p.window = min(p.window, most)
		}
	}
}

// close implements role.
func (p *pair) close(_ *loop, d *device) { p.there[d.place] = false }

// sendack implements role.
func (p *pair) sendack(l *loop, f *protocol.Sendack) {
	stamp, ok := p.out.answer(l.now, l.random(), f.ID, &f.Status)
	switch {
	case !ok:
		l.counts.errors.add("UNASKED_SENDACK", 1)
	case f.Status.Failed():
		p.traffic.refused = true
	default:
		p.traffic.stored(l.now, stamp)
		p.write(l)
	}
}

// push implements role.
func (p *pair) push(l *loop, d *device, entries []protocol.Entry) {
	s := &p.streams[d.place]
	for i := range entries {
		e := &entries[i]
		fresh := s.entry(e)
		switch {
		case e.Kind != protocol.EntryMessage:
		case d.place == senderPlace:
			p.own(s, fresh, &e.Message)
		default:
			p.received(l, d, fresh, &e.Message)
		}
	}
}

// own takes a message that comes back to the device that sent it, with or without its payload.
func (p *pair) own(s *stream, fresh bool, m *protocol.Message) {
	number, ok := readClientID(m.ClientID, p.writer)
	if !ok {
		s.faults.Damaged++
		return
	}
	s.message(fresh, m.Seq, number)
}

func (p *pair) received(l *loop, d *device, fresh bool, m *protocol.Message) {
	s := &p.streams[d.place]
	number, stamp, ok := readHead(m.Payload, p.traffic.payload, p.writer)
	if !ok {
		s.faults.Damaged++
		return
	}
	if s.message(fresh, m.Seq, number) {
		p.traffic.pushed(l.now, stamp, p.latest(d.place, number))
	}
}

// latest tells whether every other device of the receiver has come as far as number.
func (p *pair) latest(place uint8, number uint64) bool {
	for i := senderPlace + 1; i < p.devices; i++ {
		if i != int(place) && p.streams[i].number < number {
			return false
		}
	}
	return true
}

// write sends what is due and has room, as part of the sender's event.
func (p *pair) write(l *loop) {
	if !p.there[senderPlace] {
		return
	}
	for {
		number, id, stamp, ok := p.out.retry(l.now)
		if !ok {
			break
		}
		p.send(l, number, id, stamp)
	}
	for p.out.room(p.window) {
		stamp, ok := p.traffic.next(p)
		if !ok {
			return
		}
		number, id := p.out.give(stamp)
		p.send(l, number, id, stamp)
	}
}

func (p *pair) send(l *loop, number, id uint64, stamp int64) {
	t := p.traffic
	writeHead(t.payload, p.writer, number, stamp)
	t.send = protocol.Send{ID: id, To: protocol.ToUser, ToID: p.to, ClientID: t.payload[:clientIDBytes], Payload: t.payload}
	l.out = t.send.Append(l.out)
	t.figures.sent++
}

// rest is what a pair has not finished.
type rest struct {
	unanswered uint64 // Sends
	failed     uint64 // Sends refused for good
	unpushed   uint64 // stored messages that a device that is there has not seen
	unproven   uint64 // stored messages that a device that has gone had not seen
	waiting    bool   // more may come of it
}

func (r *rest) add(other rest) {
	r.unanswered += other.unanswered
	r.failed += other.failed
	r.unpushed += other.unpushed
	r.unproven += other.unproven
	r.waiting = r.waiting || other.waiting
}

func (p *pair) rest() (r rest) {
	r.unanswered = uint64(p.out.open + p.out.refused)
	r.failed = uint64(p.out.failed)
	for i := range p.devices {
		behind := p.streams[i].behind(&p.out)
		if p.there[i] {
			r.unpushed += behind
		} else {
			r.unproven += behind
		}
	}
	overdue := p.traffic.gap > 0 && p.due < p.traffic.until && p.out.failed == 0
	r.waiting = r.unpushed > 0 || p.there[senderPlace] && (r.unanswered > 0 || overdue)
	return r
}
