package protocol

// Connack opens the session.
type Connack struct {
	ConnID          uint64
	ServerTimeMs    uint64
	Epoch           []byte // 16 bytes
	Head            uint64
	Start           uint64 // pushes begin at Start + 1
	Reset           bool   // fetch the conversations, persist (Epoch, Head), then Ack
	Heartbeat       Heartbeat
	PushWindow      uint32 // messages
	PushWindowBytes uint32
	Limits          Limits
	Capabilities    uint64
	Hosts           [][]byte
	TokenExpiryMs   uint64 // 0 = does not expire
}

// Limits is what the server allows on this connection.
type Limits struct {
	MaxFrame           uint32 // bytes of type and body
	MaxPayload         uint32 // bytes
	UnansweredSends    uint32
	UnansweredRequests uint32
	AckDelayMs         uint32
	AckEvery           uint32 // entries
}

func (*Connack) Type() Type { return TypeConnack }

func (f *Connack) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeConnack)
	dst = appendFixed64(dst, 1, f.ConnID)
	dst = appendUint(dst, 2, f.ServerTimeMs)
	dst = appendBytes(dst, 3, f.Epoch)
	dst = appendUint(dst, 4, f.Head)
	dst = appendUint(dst, 5, f.Start)
	dst = appendBool(dst, 6, f.Reset)
	dst, inner := begin(dst, 7)
	dst = endOptional(f.Heartbeat.append(dst), inner)
	dst = appendUint(dst, 8, uint64(f.PushWindow))
	dst = appendUint(dst, 9, uint64(f.PushWindowBytes))
	dst, inner = begin(dst, 10)
	dst = endOptional(f.Limits.append(dst), inner)
	dst = appendUint(dst, 11, f.Capabilities)
	for _, host := range f.Hosts {
		dst = appendBytesAlways(dst, 12, host)
	}
	dst = appendUint(dst, 13, f.TokenExpiryMs)
	return end(dst, at)
}

func (f *Connack) Parse(body []byte) error {
	*f = Connack{Hosts: f.Hosts[:0]}
	d := decoder{body: body}
	for d.next() {
		f.field(&d)
	}
	return d.err
}

func (f *Connack) field(d *decoder) {
	switch d.tag {
	case 1<<3 | wireFixed64:
		f.ConnID = d.num
	case 2<<3 | wireVarint:
		f.ServerTimeMs = d.num
	case 3<<3 | wireBytes:
		f.Epoch = d.id16()
	case 4<<3 | wireVarint:
		f.Head = d.num
	case 5<<3 | wireVarint:
		f.Start = d.num
	case 6<<3 | wireVarint:
		f.Reset = d.num != 0
	case 7<<3 | wireBytes:
		d.fail(f.Heartbeat.merge(d.data()))
	case 8<<3 | wireVarint:
		f.PushWindow = uint32(d.num)
	case 9<<3 | wireVarint:
		f.PushWindowBytes = uint32(d.num)
	case 10<<3 | wireBytes:
		d.fail(f.Limits.merge(d.data()))
	case 11<<3 | wireVarint:
		f.Capabilities = d.num
	case 12<<3 | wireBytes:
		f.Hosts = append(f.Hosts, d.text())
	case 13<<3 | wireVarint:
		f.TokenExpiryMs = d.num
	}
}

func (f *Connack) AppendText(dst []byte) []byte {
	dst = textWord(append(dst, "connack"...), "conn_id", f.ConnID)
	dst = textUint(dst, "server_time_ms", f.ServerTimeMs)
	dst = textHex(dst, "epoch", f.Epoch)
	dst = textUint(dst, "head", f.Head)
	dst = textUint(dst, "start", f.Start)
	dst = textBool(dst, "reset", f.Reset)
	dst = textMessage(dst, "heartbeat", &f.Heartbeat)
	dst = textUint(dst, "push_window", uint64(f.PushWindow))
	dst = textUint(dst, "push_window_bytes", uint64(f.PushWindowBytes))
	dst = textMessage(dst, "limits", &f.Limits)
	dst = textUint(dst, "capabilities", f.Capabilities)
	dst = textStrings(dst, "hosts", f.Hosts)
	return textUint(dst, "token_expiry_ms", f.TokenExpiryMs)
}

func (l *Limits) append(dst []byte) []byte {
	dst = appendUint(dst, 1, uint64(l.MaxFrame))
	dst = appendUint(dst, 2, uint64(l.MaxPayload))
	dst = appendUint(dst, 3, uint64(l.UnansweredSends))
	dst = appendUint(dst, 4, uint64(l.UnansweredRequests))
	dst = appendUint(dst, 5, uint64(l.AckDelayMs))
	return appendUint(dst, 6, uint64(l.AckEvery))
}

func (l *Limits) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			l.MaxFrame = uint32(d.num)
		case 2<<3 | wireVarint:
			l.MaxPayload = uint32(d.num)
		case 3<<3 | wireVarint:
			l.UnansweredSends = uint32(d.num)
		case 4<<3 | wireVarint:
			l.UnansweredRequests = uint32(d.num)
		case 5<<3 | wireVarint:
			l.AckDelayMs = uint32(d.num)
		case 6<<3 | wireVarint:
			l.AckEvery = uint32(d.num)
		}
	}
	return d.err
}

func (l *Limits) text(dst []byte) []byte {
	dst = textUint(dst, "max_frame", uint64(l.MaxFrame))
	dst = textUint(dst, "max_payload", uint64(l.MaxPayload))
	dst = textUint(dst, "unanswered_sends", uint64(l.UnansweredSends))
	dst = textUint(dst, "unanswered_requests", uint64(l.UnansweredRequests))
	dst = textUint(dst, "ack_delay_ms", uint64(l.AckDelayMs))
	return textUint(dst, "ack_every", uint64(l.AckEvery))
}
