package protocol

import "errors"

// Faults of framing. Each closes the connection. The conformance files have a word for each fault [P-8.2].
var (
	ErrZeroLength = errors.New("frame length is zero")
	ErrNonMinimal = errors.New("frame length is not in its shortest form")
	ErrOverlong   = errors.New("frame length has more than three bytes")
	ErrTooLarge   = errors.New("frame is larger than allowed")
)

// Faults of bodies. Each closes the connection as MALFORMED.
var (
	ErrTruncated = errors.New("body ends inside a field")
	ErrVarint    = errors.New("varint does not fit 64 bits")
	ErrTag       = errors.New("field number or wire type is not allowed")
	ErrUTF8      = errors.New("string is not UTF-8")
	ErrIDLength  = errors.New("fixed-size id has another length")
	ErrCodeRange = errors.New("code does not fit 16 bits")
)

// CodeOf is the code that closes a connection whose bytes gave this error after Connack [P-1.10].
func CodeOf(err error) Code {
	if errors.Is(err, ErrTooLarge) {
		return CodeFrameTooLarge
	}
	return CodeMalformed
}
