package protocol

// Reauth brings a fresh token. Result answers it.
type Reauth struct {
	ID    uint64
	Token []byte
}

func (*Reauth) Type() Type { return TypeReauth }

func (f *Reauth) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeReauth)
	dst = appendUint(dst, 1, f.ID)
	dst = appendBytes(dst, 2, f.Token)
	return end(dst, at)
}

func (f *Reauth) Parse(body []byte) error {
	*f = Reauth{}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			f.ID = d.num
		case 2<<3 | wireBytes:
			f.Token = d.raw()
		}
	}
	return d.err
}

func (f *Reauth) AppendText(dst []byte) []byte {
	dst = textUint(append(dst, "reauth"...), "id", f.ID)
	return textSize(dst, "token", f.Token)
}
