package loadtest

import (
	"errors"
	"io"

	"lifeline/protocol"
)

// loop is what one event loop owns: its devices, and what they have counted. All its methods are called there.
type loop struct {
	// Set at construction.
	clock    func() int64   // the run's
	random   func() float64 // in [0, 1)
	names    func(d *device) (user, id string)
	activity protocol.Activity
	instance uint64
	pass     int64  // how long the sweep takes for all devices
	work     func() // what the scenario does at each tick, if anything

	now     int64  // when this event came
	out     []byte // what the device at hand answers, written at the end of the event
	devices []*device
	swept   int      // where the sweep goes on
	tickAt  int64    // when it last went on
	spare   [][]byte // buffers of frames that came in parts
	every   uint64   // entries until an Ack, as the server wants it
	delay   int64    // until an Ack, less what the sweep may be late
	ending  bool     // connections that end now are no loss
	frames  struct {
		connack protocol.Connack
		sendack protocol.Sendack
		push    protocol.Push
		pong    protocol.Pong
		ack     protocol.Ack
		refusal protocol.Error
		close   protocol.Close
	}
	counts counts
}

// counts is what a loop has seen of its connections.
type counts struct {
	connected uint64
	refused   Tally // log-ins, by code
	lost      Tally // sessions, by code
	errors    Tally // refused frames, by code
	connect   histogram
	pings     uint64
	pongs     uint64
}

func (c *counts) merge(other *counts) {
	c.connected += other.connected
	c.refused.merge(other.refused)
	c.lost.merge(other.lost)
	c.errors.merge(other.errors)
	c.connect.merge(&other.connect)
	c.pings += other.pings
	c.pongs += other.pongs
}

// opened begins a connection with its Connect.
func (l *loop) opened(d *device, c conn) {
	l.begin()
	d.enrolled, d.conn, d.state = true, c, deviceConnecting
	l.devices = append(l.devices, d)
	user, id := l.names(d)
	connect := protocol.Connect{Version: protocol.Version, Token: []byte("dev:" + user), Device: []byte(id),
		Instance: l.instance, Attempt: 1, Platform: protocol.Android, AppVersion: []byte("lifelineload"), Activity: l.activity,
		MaxPayload: protocol.PayloadCeiling}
	l.out = connect.Append(l.out)
	l.flush(d)
}

// arrived treats bytes of a device, all of them. alive is false when its connection is to be closed.
func (l *loop) arrived(d *device, data []byte) (alive bool) {
	l.begin()
	var err error
	for len(data) > 0 && d.state != deviceEnded {
		if data, err = l.next(d, data); err != nil {
			l.end(d, protocol.CodeOf(err).String())
		}
	}
	if d.state == deviceActive {
		l.acknowledge(d)
	}
	l.flush(d)
	return d.state != deviceEnded
}

// closed notes that a connection is gone. err is nil when this side closed it.
func (l *loop) closed(d *device, err error) {
	cause := protocol.CodeReset
	if errors.Is(err, io.EOF) {
		cause = protocol.CodeEOF
	}
	l.end(d, cause.String())
	d.conn, d.part = nil, nil
}

// begin begins an event.
func (l *loop) begin() {
	l.now = l.clock()
	l.out = l.out[:0]
}

// flush writes what the event made for a device. A write that fails ends the device before flush returns.
func (l *loop) flush(d *device) {
	if len(l.out) == 0 || d.state == deviceEnded {
		return
	}
	d.beat.quiet = l.now
	_, _ = d.conn.Write(l.out) // the end of the connection tells of its error
	l.out = l.out[:0]
}

// next treats the first frame in data, or keeps its beginning, and returns what follows it.
func (l *loop) next(d *device, data []byte) (rest []byte, err error) {
	if d.part == nil {
		t, body, rest, size, err := split(data)
		if err != nil {
			return nil, err
		}
		if size == 0 || len(data) < size {
			d.part = append(l.buffer(), data...)
			return nil, nil
		}
		return rest, l.frame(d, t, body)
	}
	part, rest, whole, err := join(d.part, data)
	d.part = part
	if err != nil || !whole {
		return nil, err
	}
	d.part = nil
	t, body, _, _, err := split(part)
	if err == nil {
		err = l.frame(d, t, body)
	}
	l.spare = append(l.spare, part[:0])
	return rest, err
}

// buffer is an empty buffer for a frame that comes in parts.
func (l *loop) buffer() []byte {
	n := len(l.spare)
	if n == 0 {
		return make([]byte, 0, 512)
	}
	b := l.spare[n-1]
	l.spare = l.spare[:n-1]
	return b
}

// end notes, once, that a device's connection has ended, and why.
func (l *loop) end(d *device, cause string) {
	before := d.state
	if before == deviceEnded {
		return
	}
	d.state = deviceEnded
	if l.ending {
		return
	}
	if before == deviceActive {
		l.counts.lost.add(cause, 1)
		if d.role != nil {
			d.role.close(l, d)
		}
		return
	}
	l.counts.refused.add(cause, 1)
}

// giveUp ends a device that has waited too long.
func (l *loop) giveUp(d *device, cause string) {
	l.end(d, cause)
	_ = d.conn.Close() // it is given up in any case
}

// leave says goodbye for every device that has a session; the server forgets the devices.
func (l *loop) leave() {
	l.ending = true
	for _, d := range l.devices {
		if d.state != deviceActive {
			continue
		}
		l.begin()
		if pos, ok := d.acks.take(l.now, 1, 0); ok {
			l.ack(pos)
		}
		d.state = deviceLeaving
		bye := protocol.Bye{Reason: protocol.ByeLogout}
		l.out = bye.Append(l.out)
		l.flush(d)
	}
}

// leaving counts the devices whose goodbye is not answered.
func (l *loop) leaving() int {
	n := 0
	for _, d := range l.devices {
		if d.state == deviceLeaving {
			n++
		}
	}
	return n
}
