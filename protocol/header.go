package protocol

// Sizes of frames, in bytes.
const (
	MaxPreAuth        = 4096      // all that a client may send before it has read Connack [P-1.5]
	DefaultMaxPayload = 32 << 10  // a server's payload limit unless configured
	PayloadCeiling    = 60 << 10  // the largest payload limit a server may have
	FrameOverhead     = 2 << 10   // max frame = payload limit + this [P-1.6]
	MaxLength         = 1<<21 - 1 // what three bytes of length can say
	MaxHeader         = 4         // bytes of length and type together
)

// Header is what stands before a body.
type Header struct {
	Type Type
	Body int // bytes of the body
}

// ReadHeader reads a header at the start of b. n is its size, or 0 when b ends inside it: then b holds at most
// MaxHeader-1 bytes and the caller keeps them. max bounds the length, which counts type and body [P-1.1]. Every error is
// final for the connection and is found before any byte of the body is needed [P-1.2], [P-1.3], [P-1.4].
func ReadHeader(b []byte, max int) (h Header, n int, err error) {
	length, shift := 0, 0
	for i, c := range b {
		if i == 3 {
			break
		}
		length |= int(c&0x7f) << shift
		shift += 7
		if c >= 0x80 {
			if i == 2 {
				return h, 0, ErrOverlong
			}
			continue
		}
		switch {
		case i > 0 && c == 0:
			return h, 0, ErrNonMinimal
		case length == 0:
			return h, 0, ErrZeroLength
		case length > max:
			return h, 0, ErrTooLarge
		case len(b) < i+2:
			return h, 0, nil
		}
		return Header{Type: Type(b[i+1]), Body: length - 1}, i + 2, nil
	}
	return h, 0, nil
}
