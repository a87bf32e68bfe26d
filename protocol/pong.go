package protocol

// Pong answers a Ping or a State. Pongs come in the order of what they answer [P-6.25].
type Pong struct {
	Heartbeat    Heartbeat // as before when HasHeartbeat is false
	HasHeartbeat bool
	Head         uint64 // information only
}

// Heartbeat is the interval that the server grants, in seconds.
type Heartbeat struct {
	IntervalS  uint32
	WindowS    uint32 // what the server allows beyond the interval
	EchoLimitS uint32 // the largest echo_after granted, 0 = none
	Activity   Activity
}

func (*Pong) Type() Type { return TypePong }

func (f *Pong) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypePong)
	if f.HasHeartbeat {
		var inner int
		dst, inner = begin(dst, 1)
		dst = end(f.Heartbeat.append(dst), inner)
	}
	dst = appendUint(dst, 2, f.Head)
	return end(dst, at)
}

func (f *Pong) Parse(body []byte) error {
	*f = Pong{}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireBytes:
			f.HasHeartbeat = true
			d.fail(f.Heartbeat.merge(d.data()))
		case 2<<3 | wireVarint:
			f.Head = d.num
		}
	}
	return d.err
}

func (f *Pong) AppendText(dst []byte) []byte {
	dst = append(dst, "pong"...)
	if f.HasHeartbeat {
		dst = textMessageAlways(dst, "heartbeat", &f.Heartbeat)
	}
	return textUint(dst, "head", f.Head)
}

func (h *Heartbeat) append(dst []byte) []byte {
	dst = appendUint(dst, 1, uint64(h.IntervalS))
	dst = appendUint(dst, 2, uint64(h.WindowS))
	dst = appendUint(dst, 3, uint64(h.EchoLimitS))
	return appendEnum(dst, 4, h.Activity)
}

func (h *Heartbeat) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			h.IntervalS = uint32(d.num)
		case 2<<3 | wireVarint:
			h.WindowS = uint32(d.num)
		case 3<<3 | wireVarint:
			h.EchoLimitS = uint32(d.num)
		case 4<<3 | wireVarint:
			h.Activity = Activity(d.num)
		}
	}
	return d.err
}

func (h *Heartbeat) text(dst []byte) []byte {
	dst = textUint(dst, "interval_s", uint64(h.IntervalS))
	dst = textUint(dst, "window_s", uint64(h.WindowS))
	dst = textUint(dst, "echo_limit_s", uint64(h.EchoLimitS))
	return textEnum(dst, "activity", h.Activity)
}
