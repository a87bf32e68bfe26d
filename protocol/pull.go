package protocol

// Pull asks for a range of a conversation's history, both ends included. Pulled answers it.
type Pull struct {
	ID           uint64
	Conversation []byte
	FromSeq      uint64
	ToSeq        uint64
}

func (*Pull) Type() Type { return TypePull }

func (f *Pull) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypePull)
	dst = appendUint(dst, 1, f.ID)
	dst = appendBytes(dst, 2, f.Conversation)
	dst = appendUint(dst, 3, f.FromSeq)
	dst = appendUint(dst, 4, f.ToSeq)
	return end(dst, at)
}

func (f *Pull) Parse(body []byte) error {
	*f = Pull{}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			f.ID = d.num
		case 2<<3 | wireBytes:
			f.Conversation = d.text()
		case 3<<3 | wireVarint:
			f.FromSeq = d.num
		case 4<<3 | wireVarint:
			f.ToSeq = d.num
		}
	}
	return d.err
}

func (f *Pull) AppendText(dst []byte) []byte {
	dst = textUint(append(dst, "pull"...), "id", f.ID)
	dst = textString(dst, "conversation", f.Conversation)
	dst = textUint(dst, "from_seq", f.FromSeq)
	return textUint(dst, "to_seq", f.ToSeq)
}
