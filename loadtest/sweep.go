package loadtest

import "lifeline/protocol"

// tick does what time asks for: the scenario's work, then a part of the sweep, which looks at every device once in a pass
// instead of keeping a timer for each.
func (l *loop) tick() {
	l.begin()
	if l.work != nil {
		l.work()
	}
	passed := min(l.now-l.tickAt, l.pass)
	l.tickAt = l.now
	for n := (int64(len(l.devices))*passed + l.pass - 1) / l.pass; n > 0; n-- {
		if l.swept >= len(l.devices) {
			l.swept = 0
		}
		l.visit(l.devices[l.swept])
		l.swept++
	}
}

// visit sends what a device owes by now, or gives it up.
func (l *loop) visit(d *device) {
	switch {
	case d.state == deviceConnecting && l.now-d.dialled > connackPatience:
		l.giveUp(d, "NO_CONNACK")
	case d.state != deviceActive:
	case d.beat.dead(l.now):
		l.giveUp(d, "NO_PONG")
	default:
		l.out = l.out[:0]
		l.acknowledge(d)
		if d.beat.due(l.now) {
			d.beat.ping(l.now, d.beatNs(), l.pass, l.random())
			l.counts.pings++
			l.out = (&protocol.Ping{}).Append(l.out)
		}
		l.flush(d)
	}
}
