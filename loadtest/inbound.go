package loadtest

import "lifeline/protocol"

// frame treats one frame of the server.
func (l *loop) frame(d *device, t protocol.Type, body []byte) error {
	switch t {
	case protocol.TypeSendack:
		f := &l.frames.sendack
		if err := f.Parse(body); err != nil {
			return err
		}
		l.sendack(d, f)
	case protocol.TypePush:
		return l.push(d, body)
	case protocol.TypePong:
		return l.pong(d, body)
	case protocol.TypeProbe:
		l.out = (&protocol.ProbeAck{}).Append(l.out)
	case protocol.TypeConnack:
		return l.connack(d, body)
	case protocol.TypeError:
		return l.refusal(d, body)
	case protocol.TypeClose:
		f := &l.frames.close
		if err := f.Parse(body); err != nil {
			return err
		}
		l.end(d, f.Status.Code.String())
	default:
		if !t.Ignorable() {
			l.counts.errors.add(protocol.CodeUnexpectedFrame.String(), 1)
		}
	}
	return nil
}

// connack opens the session. The server has no position of this device, so it says where the device is to begin; there is
// nothing to fetch for it, and that position is acknowledged at once.
func (l *loop) connack(d *device, body []byte) error {
	f := &l.frames.connack
	if err := f.Parse(body); err != nil {
		return err
	}
	if d.state != deviceConnecting {
		l.counts.errors.add(protocol.CodeUnexpectedFrame.String(), 1)
		return nil
	}
	d.state = deviceActive
	d.interval = uint16(f.Heartbeat.IntervalS)
	d.beat.start(l.now, d.beatNs(), l.random())
	d.acks = acks{got: f.Start, acked: f.Start}
	l.every = max(1, uint64(f.Limits.AckEvery))
	l.delay = max(0, int64(f.Limits.AckDelayMs)*millisecond-l.pass)
	l.counts.connected++
	l.counts.connect.record(l.now - d.dialled)
	if f.Reset {
		l.ack(f.Start)
	}
	if d.role != nil {
		d.role.open(l, d)
	}
	return nil
}

func (d *device) beatNs() int64 {
	if d.interval == 0 {
		return defaultBeat
	}
	return int64(d.interval) * second
}

func (l *loop) sendack(d *device, f *protocol.Sendack) {
	if f.Status.Failed() {
		l.counts.errors.add(f.Status.Code.String(), 1)
	}
	if d.role != nil {
		d.role.sendack(l, f)
	}
}

func (l *loop) push(d *device, body []byte) error {
	f := &l.frames.push
	if err := f.Parse(body); err != nil {
		return err
	}
	for i := range f.Entries {
		e := &f.Entries[i]
		d.acks.came(l.now, max(e.Pos, e.Void.To))
	}
	if d.role != nil {
		d.role.push(l, d, f.Entries)
	}
	return nil
}

func (l *loop) pong(d *device, body []byte) error {
	f := &l.frames.pong
	if err := f.Parse(body); err != nil {
		return err
	}
	l.counts.pongs++
	d.beat.pong()
	if f.HasHeartbeat {
		d.interval = uint16(f.Heartbeat.IntervalS)
	}
	return nil
}

// refusal takes an Error; for a Send it is as good as a Sendack.
func (l *loop) refusal(d *device, body []byte) error {
	f := &l.frames.refusal
	if err := f.Parse(body); err != nil {
		return err
	}
	if protocol.Type(f.FrameType) == protocol.TypeSend {
		answer := &l.frames.sendack
		*answer = protocol.Sendack{ID: f.ID, Status: f.Status}
		l.sendack(d, answer)
		return nil
	}
	l.counts.errors.add(f.Status.Code.String(), 1)
	return nil
}

// acknowledge acknowledges what a device has, if it is time.
func (l *loop) acknowledge(d *device) {
	if pos, ok := d.acks.take(l.now, l.every, l.delay); ok {
		l.ack(pos)
	}
}

func (l *loop) ack(pos uint64) {
	f := &l.frames.ack
	*f = protocol.Ack{Pos: pos, HasPos: true}
	l.out = f.Append(l.out)
}
