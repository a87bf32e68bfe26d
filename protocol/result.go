package protocol

// Result answers a request that brings nothing back: done, when Status.Code is 0, or refused.
type Result struct {
	ID            uint64
	Status        Status
	TokenExpiryMs uint64 // answer to Reauth
}

func (*Result) Type() Type { return TypeResult }

func (f *Result) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeResult)
	dst = appendUint(dst, 1, f.ID)
	dst, inner := begin(dst, 2)
	dst = endOptional(f.Status.append(dst), inner)
	dst = appendUint(dst, 3, f.TokenExpiryMs)
	return end(dst, at)
}

func (f *Result) Parse(body []byte) error {
	*f = Result{}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			f.ID = d.num
		case 2<<3 | wireBytes:
			d.fail(f.Status.merge(d.data()))
		case 3<<3 | wireVarint:
			f.TokenExpiryMs = d.num
		}
	}
	return d.err
}

func (f *Result) AppendText(dst []byte) []byte {
	dst = textUint(append(dst, "result"...), "id", f.ID)
	dst = textMessage(dst, "status", &f.Status)
	return textUint(dst, "token_expiry_ms", f.TokenExpiryMs)
}
