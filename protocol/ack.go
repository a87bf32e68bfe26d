package protocol

// Ack says that the app has persisted every entry up to Pos. Presence is explicit: 0 is a position, and an Ack without
// one is a fault of the client [P-6.8].
type Ack struct {
	Pos    uint64
	HasPos bool
}

func (*Ack) Type() Type { return TypeAck }

func (f *Ack) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeAck)
	if f.HasPos {
		dst = appendUintAlways(dst, 1, f.Pos)
	}
	return end(dst, at)
}

func (f *Ack) Parse(body []byte) error {
	*f = Ack{}
	d := decoder{body: body}
	for d.next() {
		if d.tag == 1<<3|wireVarint {
			f.Pos, f.HasPos = d.num, true
		}
	}
	return d.err
}

func (f *Ack) AppendText(dst []byte) []byte {
	dst = append(dst, "ack"...)
	if f.HasPos {
		dst = textUintAlways(dst, "pos", f.Pos)
	}
	return dst
}
