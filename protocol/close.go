package protocol

// Close is the last frame of a connection [P-6.32], and concerns only the connection that it comes on [P-6.33].
type Close struct {
	Status Status
	Hosts  [][]byte // where to go instead, in order of preference
}

func (*Close) Type() Type { return TypeClose }

func (f *Close) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeClose)
	dst, inner := begin(dst, 1)
	dst = endOptional(f.Status.append(dst), inner)
	for _, host := range f.Hosts {
		dst = appendBytesAlways(dst, 2, host)
	}
	return end(dst, at)
}

func (f *Close) Parse(body []byte) error {
	*f = Close{Hosts: f.Hosts[:0]}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireBytes:
			d.fail(f.Status.merge(d.data()))
		case 2<<3 | wireBytes:
			f.Hosts = append(f.Hosts, d.text())
		}
	}
	return d.err
}

func (f *Close) AppendText(dst []byte) []byte {
	dst = textMessage(append(dst, "close"...), "status", &f.Status)
	return textStrings(dst, "hosts", f.Hosts)
}
