package protocol

// Error refuses a frame and leaves the connection open [P-4.3].
type Error struct {
	ID        uint64 // of the request, 0 = it had none
	Status    Status
	FrameType uint32
}

func (*Error) Type() Type { return TypeError }

func (f *Error) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeError)
	dst = appendUint(dst, 1, f.ID)
	dst, inner := begin(dst, 2)
	dst = endOptional(f.Status.append(dst), inner)
	dst = appendUint(dst, 3, uint64(f.FrameType))
	return end(dst, at)
}

func (f *Error) Parse(body []byte) error {
	*f = Error{}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			f.ID = d.num
		case 2<<3 | wireBytes:
			d.fail(f.Status.merge(d.data()))
		case 3<<3 | wireVarint:
			f.FrameType = uint32(d.num)
		}
	}
	return d.err
}

func (f *Error) AppendText(dst []byte) []byte {
	dst = textUint(append(dst, "error"...), "id", f.ID)
	dst = textMessage(dst, "status", &f.Status)
	return textUint(dst, "frame_type", uint64(f.FrameType))
}
