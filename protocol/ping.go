package protocol

// Ping says that the client is there, and may ask for an Echo after a silence.
type Ping struct {
	EchoAfterS uint32
}

func (*Ping) Type() Type { return TypePing }

func (f *Ping) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypePing)
	dst = appendUint(dst, 1, uint64(f.EchoAfterS))
	return end(dst, at)
}

func (f *Ping) Parse(body []byte) error {
	*f = Ping{}
	d := decoder{body: body}
	for d.next() {
		if d.tag == 1<<3|wireVarint {
			f.EchoAfterS = uint32(d.num)
		}
	}
	return d.err
}

func (f *Ping) AppendText(dst []byte) []byte {
	return textUint(append(dst, "ping"...), "echo_after_s", uint64(f.EchoAfterS))
}
