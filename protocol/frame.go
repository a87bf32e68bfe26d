package protocol

// Frame is one unit on the wire.
type Frame interface {
	// Type is the byte behind the length.
	Type() Type
	// Append appends the whole frame: length, type and body.
	Append(dst []byte) []byte
	// Parse replaces the frame by the one whose body this is, the bytes behind the type. Strings and bytes of the
	// frame alias body. Slices of the frame are used again.
	Parse(body []byte) error
	// AppendText appends the frame's text form, one line without its end. Tokens and payloads show as sizes.
	AppendText(dst []byte) []byte
}

// New returns an empty frame of a type, nil for a type whose body is not defined.
func New(t Type) Frame {
	if info := types[t]; info.frame != nil {
		return info.frame()
	}
	return nil
}
