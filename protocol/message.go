package protocol

// Message is one unit of a conversation's log.
type Message struct {
	ClientID     []byte // only to the sender's own devices
	Conversation []byte
	Seq          uint64
	MessageID    []byte // 16 bytes
	Sender       []byte
	SenderDevice []byte
	TimeMs       uint64
	State        MessageState
	Payload      []byte // opaque [P-3.10]
	HasPayload   bool   // false only in the live item to the connection that sent it [P-6.14]
}

func (m *Message) append(dst []byte) []byte {
	dst = appendBytes(dst, 1, m.ClientID)
	dst = m.appendMiddle(dst)
	if m.HasPayload {
		dst = appendBytesAlways(dst, 9, m.Payload)
	}
	return dst
}

// appendMiddle appends the fields between the client id and the payload.
func (m *Message) appendMiddle(dst []byte) []byte {
	dst = appendBytes(dst, 2, m.Conversation)
	dst = appendUint(dst, 3, m.Seq)
	dst = appendBytes(dst, 4, m.MessageID)
	dst = appendBytes(dst, 5, m.Sender)
	dst = appendBytes(dst, 6, m.SenderDevice)
	dst = appendUint(dst, 7, m.TimeMs)
	return appendEnum(dst, 8, m.State)
}

func (m *Message) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireBytes:
			m.ClientID = d.raw()
		case 2<<3 | wireBytes:
			m.Conversation = d.text()
		case 3<<3 | wireVarint:
			m.Seq = d.num
		case 4<<3 | wireBytes:
			m.MessageID = d.id16()
		case 5<<3 | wireBytes:
			m.Sender = d.text()
		case 6<<3 | wireBytes:
			m.SenderDevice = d.text()
		case 7<<3 | wireVarint:
			m.TimeMs = d.num
		case 8<<3 | wireVarint:
			m.State = MessageState(d.num)
		case 9<<3 | wireBytes:
			m.Payload, m.HasPayload = d.raw(), true
		}
	}
	return d.err
}

func (m *Message) text(dst []byte) []byte {
	dst = textHex(dst, "client_id", m.ClientID)
	dst = textString(dst, "conversation", m.Conversation)
	dst = textUint(dst, "seq", m.Seq)
	dst = textHex(dst, "message_id", m.MessageID)
	dst = textString(dst, "sender", m.Sender)
	dst = textString(dst, "sender_device", m.SenderDevice)
	dst = textUint(dst, "time_ms", m.TimeMs)
	dst = textEnum(dst, "state", m.State)
	if m.HasPayload {
		dst = textSizeAlways(dst, "payload", m.Payload)
	}
	return dst
}

// EncodedMessage is a message encoded once, of which each receiver gets a part. Read-only after EncodeMessage, so any
// goroutine may use it.
type EncodedMessage struct {
	bytes   []byte // client id, middle, payload
	middle  int    // where the client id ends
	payload int    // where the payload begins
}

// EncodeMessage encodes a message behind dst, which may be nil or a buffer with room.
func EncodeMessage(dst []byte, m *Message) EncodedMessage {
	start := len(dst)
	dst = appendBytes(dst, 1, m.ClientID)
	middle := len(dst)
	dst = m.appendMiddle(dst)
	payload := len(dst)
	if m.HasPayload {
		dst = appendBytesAlways(dst, 9, m.Payload)
	}
	return EncodedMessage{bytes: dst[start:], middle: middle - start, payload: payload - start}
}

// Others is the message for everybody but its sender.
func (e *EncodedMessage) Others() []byte { return e.bytes[e.middle:] }

// Own is the message for the other devices of its sender: with the client id.
func (e *EncodedMessage) Own() []byte { return e.bytes }

// Origin is the message for the connection that sent it: with the client id, without the payload.
func (e *EncodedMessage) Origin() []byte { return e.bytes[:e.payload] }
