package protocol

// Status is the outcome of a request or the reason of a close. A Code of 0 is success, and then it is left out.
type Status struct {
	Code          Code
	Retry         RetryClass
	RetryMinMs    uint32
	RetryWindowMs uint32
	Detail        []byte
}

// Failed tells whether the status is a refusal.
func (s *Status) Failed() bool { return s.Code != 0 }

func (s *Status) append(dst []byte) []byte {
	dst = appendUint(dst, 1, uint64(s.Code))
	dst = appendEnum(dst, 2, s.Retry)
	dst = appendUint(dst, 3, uint64(s.RetryMinMs))
	dst = appendUint(dst, 4, uint64(s.RetryWindowMs))
	return appendBytes(dst, 5, s.Detail)
}

func (s *Status) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			s.Code = d.code()
		case 2<<3 | wireVarint:
			s.Retry = RetryClass(d.num)
		case 3<<3 | wireVarint:
			s.RetryMinMs = uint32(d.num)
		case 4<<3 | wireVarint:
			s.RetryWindowMs = uint32(d.num)
		case 5<<3 | wireBytes:
			s.Detail = d.text()
		}
	}
	return d.err
}

func (s *Status) text(dst []byte) []byte {
	dst = textCode(dst, "code", s.Code)
	dst = textEnum(dst, "retry", s.Retry)
	dst = textUint(dst, "retry_min_ms", uint64(s.RetryMinMs))
	dst = textUint(dst, "retry_window_ms", uint64(s.RetryWindowMs))
	return textString(dst, "detail", s.Detail)
}
