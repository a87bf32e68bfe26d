package protocol

// Recipient tells which field of the oneof in Send is set.
type Recipient uint8

const (
	ToNobody Recipient = 0 // a fault of the client
	ToUser   Recipient = 1
	ToGroup  Recipient = 2
)

// Send asks to store a message. Sendack answers it.
type Send struct {
	ID        uint64
	To        Recipient
	ToID      []byte // of the user or the group
	ClientID  []byte // 1 to 64 bytes, kept through every retry [P-6.16]
	Payload   []byte
	NoNotify  bool
	SkipOrder bool
}

func (*Send) Type() Type { return TypeSend }

func (f *Send) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeSend)
	dst = appendUint(dst, 1, f.ID)
	switch f.To {
	case ToUser:
		dst = appendBytesAlways(dst, 2, f.ToID)
	case ToGroup:
		dst = appendBytesAlways(dst, 3, f.ToID)
	}
	dst = appendBytes(dst, 4, f.ClientID)
	dst = appendBytes(dst, 5, f.Payload)
	dst = appendBool(dst, 6, f.NoNotify)
	dst = appendBool(dst, 7, f.SkipOrder)
	return end(dst, at)
}

func (f *Send) Parse(body []byte) error {
	*f = Send{}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			f.ID = d.num
		case 2<<3 | wireBytes:
			f.To, f.ToID = ToUser, d.text()
		case 3<<3 | wireBytes:
			f.To, f.ToID = ToGroup, d.text()
		case 4<<3 | wireBytes:
			f.ClientID = d.raw()
		case 5<<3 | wireBytes:
			f.Payload = d.raw()
		case 6<<3 | wireVarint:
			f.NoNotify = d.num != 0
		case 7<<3 | wireVarint:
			f.SkipOrder = d.num != 0
		}
	}
	return d.err
}

func (f *Send) AppendText(dst []byte) []byte {
	dst = textUint(append(dst, "send"...), "id", f.ID)
	switch f.To {
	case ToUser:
		dst = quote(textName(dst, "to_user"), f.ToID)
	case ToGroup:
		dst = quote(textName(dst, "to_group"), f.ToID)
	}
	dst = textHex(dst, "client_id", f.ClientID)
	dst = textSize(dst, "payload", f.Payload)
	dst = textBool(dst, "no_notify", f.NoNotify)
	return textBool(dst, "skip_order", f.SkipOrder)
}
