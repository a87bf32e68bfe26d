package protocol

// Push brings entries of the user's inbox, in Pos order without holes [P-6.5].
type Push struct {
	Entries []Entry
	More    bool
}

func (*Push) Type() Type { return TypePush }

func (f *Push) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypePush)
	for i := range f.Entries {
		var inner int
		dst, inner = begin(dst, 1)
		dst = end(f.Entries[i].append(dst), inner)
	}
	dst = appendBool(dst, 2, f.More)
	return end(dst, at)
}

func (f *Push) Parse(body []byte) error {
	*f = Push{Entries: f.Entries[:0]}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireBytes:
			f.Entries = append(f.Entries, Entry{})
			d.fail(f.Entries[len(f.Entries)-1].merge(d.data()))
		case 2<<3 | wireVarint:
			f.More = d.num != 0
		}
	}
	return d.err
}

func (f *Push) AppendText(dst []byte) []byte {
	dst = textMessages(append(dst, "push"...), "entries", f.Entries)
	return textBool(dst, "more", f.More)
}
