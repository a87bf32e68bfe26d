package protocol

// Bye says that the client leaves on purpose. Close(BYE) answers it.
type Bye struct {
	Reason ByeReason
}

func (*Bye) Type() Type { return TypeBye }

func (f *Bye) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeBye)
	dst = appendEnum(dst, 1, f.Reason)
	return end(dst, at)
}

func (f *Bye) Parse(body []byte) error {
	*f = Bye{}
	d := decoder{body: body}
	for d.next() {
		if d.tag == 1<<3|wireVarint {
			f.Reason = ByeReason(d.num)
		}
	}
	return d.err
}

func (f *Bye) AppendText(dst []byte) []byte {
	return textEnumAlways(append(dst, "bye"...), "reason", f.Reason)
}
