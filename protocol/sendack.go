package protocol

// Sendack answers a Send: stored, when Status.Code is 0, or refused.
type Sendack struct {
	ID        uint64
	Status    Status
	Seq       uint64
	MessageID []byte // 16 bytes
	TimeMs    uint64
}

func (*Sendack) Type() Type { return TypeSendack }

func (f *Sendack) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeSendack)
	dst = appendUint(dst, 1, f.ID)
	dst, inner := begin(dst, 2)
	dst = endOptional(f.Status.append(dst), inner)
	dst = appendUint(dst, 3, f.Seq)
	dst = appendBytes(dst, 4, f.MessageID)
	dst = appendUint(dst, 5, f.TimeMs)
	return end(dst, at)
}

func (f *Sendack) Parse(body []byte) error {
	*f = Sendack{}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			f.ID = d.num
		case 2<<3 | wireBytes:
			d.fail(f.Status.merge(d.data()))
		case 3<<3 | wireVarint:
			f.Seq = d.num
		case 4<<3 | wireBytes:
			f.MessageID = d.id16()
		case 5<<3 | wireVarint:
			f.TimeMs = d.num
		}
	}
	return d.err
}

func (f *Sendack) AppendText(dst []byte) []byte {
	dst = textUint(append(dst, "sendack"...), "id", f.ID)
	dst = textMessage(dst, "status", &f.Status)
	dst = textUint(dst, "seq", f.Seq)
	dst = textHex(dst, "message_id", f.MessageID)
	return textUint(dst, "time_ms", f.TimeMs)
}
