package protocol

// Pulled answers a Pull [P-6.21].
type Pulled struct {
	ID           uint64
	FirstVisible uint64
	Head         uint64
	Gaps         []Gap // ranges that will never come
	Messages     []Message
	More         bool // the frame was full: pull again above the last Seq
}

// Gap is a range of history that never comes, both ends included.
type Gap struct {
	FromSeq uint64
	ToSeq   uint64
	Reason  GapReason
}

func (*Pulled) Type() Type { return TypePulled }

func (f *Pulled) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypePulled)
	dst = f.appendHead(dst)
	for i := range f.Messages {
		var inner int
		dst, inner = begin(dst, 5)
		dst = end(f.Messages[i].append(dst), inner)
	}
	dst = appendBool(dst, 6, f.More)
	return end(dst, at)
}

// appendHead appends the fields before the messages.
func (f *Pulled) appendHead(dst []byte) []byte {
	dst = appendUint(dst, 1, f.ID)
	dst = appendUint(dst, 2, f.FirstVisible)
	dst = appendUint(dst, 3, f.Head)
	for i := range f.Gaps {
		var inner int
		dst, inner = begin(dst, 4)
		dst = end(f.Gaps[i].append(dst), inner)
	}
	return dst
}

func (f *Pulled) Parse(body []byte) error {
	*f = Pulled{Gaps: f.Gaps[:0], Messages: f.Messages[:0]}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			f.ID = d.num
		case 2<<3 | wireVarint:
			f.FirstVisible = d.num
		case 3<<3 | wireVarint:
			f.Head = d.num
		case 4<<3 | wireBytes:
			f.Gaps = append(f.Gaps, Gap{})
			d.fail(f.Gaps[len(f.Gaps)-1].merge(d.data()))
		case 5<<3 | wireBytes:
			f.Messages = append(f.Messages, Message{})
			d.fail(f.Messages[len(f.Messages)-1].merge(d.data()))
		case 6<<3 | wireVarint:
			f.More = d.num != 0
		}
	}
	return d.err
}

func (f *Pulled) AppendText(dst []byte) []byte {
	dst = textUint(append(dst, "pulled"...), "id", f.ID)
	dst = textUint(dst, "first_visible", f.FirstVisible)
	dst = textUint(dst, "head", f.Head)
	dst = textMessages(dst, "gaps", f.Gaps)
	dst = textMessages(dst, "messages", f.Messages)
	return textBool(dst, "more", f.More)
}

func (g *Gap) append(dst []byte) []byte {
	dst = appendUint(dst, 1, g.FromSeq)
	dst = appendUint(dst, 2, g.ToSeq)
	return appendEnum(dst, 3, g.Reason)
}

func (g *Gap) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			g.FromSeq = d.num
		case 2<<3 | wireVarint:
			g.ToSeq = d.num
		case 3<<3 | wireVarint:
			g.Reason = GapReason(d.num)
		}
	}
	return d.err
}

func (g *Gap) text(dst []byte) []byte {
	dst = textUint(dst, "from_seq", g.FromSeq)
	dst = textUint(dst, "to_seq", g.ToSeq)
	return textEnum(dst, "reason", g.Reason)
}
