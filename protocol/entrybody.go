package protocol

func (r *Recall) append(dst []byte) []byte {
	dst = appendBytes(dst, 1, r.Conversation)
	dst = appendUint(dst, 2, r.Seq)
	return appendBytes(dst, 3, r.By)
}

func (r *Recall) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireBytes:
			r.Conversation = d.text()
		case 2<<3 | wireVarint:
			r.Seq = d.num
		case 3<<3 | wireBytes:
			r.By = d.text()
		}
	}
	return d.err
}

func (r *Recall) text(dst []byte) []byte {
	dst = textString(dst, "conversation", r.Conversation)
	dst = textUint(dst, "seq", r.Seq)
	return textString(dst, "by", r.By)
}

func (r *Read) append(dst []byte) []byte {
	dst = appendBytes(dst, 1, r.Conversation)
	return appendUint(dst, 2, r.Seq)
}

func (r *Read) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireBytes:
			r.Conversation = d.text()
		case 2<<3 | wireVarint:
			r.Seq = d.num
		}
	}
	return d.err
}

func (r *Read) text(dst []byte) []byte {
	dst = textString(dst, "conversation", r.Conversation)
	return textUint(dst, "seq", r.Seq)
}

func (r *Receipt) append(dst []byte) []byte {
	dst = appendBytes(dst, 1, r.Conversation)
	dst = appendUint(dst, 2, r.Seq)
	return appendBytes(dst, 3, r.Reader)
}

func (r *Receipt) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireBytes:
			r.Conversation = d.text()
		case 2<<3 | wireVarint:
			r.Seq = d.num
		case 3<<3 | wireBytes:
			r.Reader = d.text()
		}
	}
	return d.err
}

func (r *Receipt) text(dst []byte) []byte {
	dst = textString(dst, "conversation", r.Conversation)
	dst = textUint(dst, "seq", r.Seq)
	return textString(dst, "reader", r.Reader)
}

func (c *ConversationRow) append(dst []byte) []byte {
	dst = appendBytes(dst, 1, c.Conversation)
	dst = appendBool(dst, 2, c.Member)
	dst = appendUint(dst, 3, c.FirstSeq)
	return appendUint(dst, 4, c.LastSeq)
}

func (c *ConversationRow) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireBytes:
			c.Conversation = d.text()
		case 2<<3 | wireVarint:
			c.Member = d.num != 0
		case 3<<3 | wireVarint:
			c.FirstSeq = d.num
		case 4<<3 | wireVarint:
			c.LastSeq = d.num
		}
	}
	return d.err
}

func (c *ConversationRow) text(dst []byte) []byte {
	dst = textString(dst, "conversation", c.Conversation)
	dst = textBool(dst, "member", c.Member)
	dst = textUint(dst, "first_seq", c.FirstSeq)
	return textUint(dst, "last_seq", c.LastSeq)
}

func (v *Void) append(dst []byte) []byte { return appendUint(dst, 1, v.To) }

func (v *Void) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		if d.tag == 1<<3|wireVarint {
			v.To = d.num
		}
	}
	return d.err
}

func (v *Void) text(dst []byte) []byte { return textUint(dst, "to", v.To) }
