package loadtest

// acks decides when a device acknowledges what it has: after some entries, or some time. It is a value without a clock.
type acks struct {
	got   uint64 // last position
	acked uint64
	since int64 // when the first position that is not acknowledged came
}

func (a *acks) came(now int64, pos uint64) {
	if pos <= a.got {
		return
	}
	if a.got == a.acked {
		a.since = now
	}
	a.got = pos
}

// take is the position to acknowledge now, when it is time: every entries have gathered, or delay has passed.
func (a *acks) take(now int64, every uint64, delay int64) (pos uint64, ok bool) {
	waiting := a.got - a.acked
	if waiting == 0 || waiting < every && now-a.since < delay {
		return 0, false
	}
	a.acked = a.got
	return a.got, true
}
