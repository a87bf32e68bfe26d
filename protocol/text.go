package protocol

import "strconv"

// The functions below append one field of the text form: a space unless the field is the first inside braces, the
// name, '=', the value [P-7.1]. Fields with a zero value are left out [P-7.2].

const lowerHex = "0123456789abcdef"

func textName(dst []byte, name string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ' ')
	}
	return append(append(dst, name...), '=')
}

func textUint(dst []byte, name string, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return textUintAlways(dst, name, v)
}

func textUintAlways(dst []byte, name string, v uint64) []byte {
	return strconv.AppendUint(textName(dst, name), v, 10)
}

func textBool(dst []byte, name string, v bool) []byte {
	if !v {
		return dst
	}
	return append(textName(dst, name), "true"...)
}

func textEnum[E interface {
	~int32
	String() string
}](dst []byte, name string, v E) []byte {
	if v == 0 {
		return dst
	}
	return textEnumAlways(dst, name, v)
}

func textEnumAlways[E interface {
	~int32
	String() string
}](dst []byte, name string, v E) []byte {
	dst = textName(dst, name)
	if s := v.String(); s != "" {
		return append(dst, s...)
	}
	return strconv.AppendInt(dst, int64(v), 10)
}

func textCode(dst []byte, name string, c Code) []byte {
	if c == 0 {
		return dst
	}
	return append(textName(dst, name), c.String()...)
}

// textWord is a fixed64 that is an identity, not an amount [P-7.3].
func textWord(dst []byte, name string, v uint64) []byte {
	if v == 0 {
		return dst
	}
	dst = textName(dst, name)
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, lowerHex[v>>shift&15])
	}
	return dst
}

func textHex(dst []byte, name string, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	dst = textName(dst, name)
	for _, c := range v {
		dst = append(dst, lowerHex[c>>4], lowerHex[c&15])
	}
	return dst
}

func textString(dst []byte, name string, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	return quote(textName(dst, name), v)
}

// textSize stands for bytes that logs must not hold [P-7.4].
func textSize(dst []byte, name string, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	return textSizeAlways(dst, name, v)
}

func textSizeAlways(dst []byte, name string, v []byte) []byte {
	dst = strconv.AppendInt(append(textName(dst, name), '<'), int64(len(v)), 10)
	return append(dst, '>')
}

// quote writes bytes 0x20 to 0x7E as they are, but '"' and '\' and every other byte as \x and two digits [P-7.4].
func quote(dst, v []byte) []byte {
	dst = append(dst, '"')
	for _, c := range v {
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '\\', 'x', lowerHex[c>>4], lowerHex[c&15])
	}
	return append(dst, '"')
}

func textStrings(dst []byte, name string, list [][]byte) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(textName(dst, name), '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = quote(dst, v)
	}
	return append(dst, ']')
}

// textFields is a part of a frame that writes its own fields.
type textFields interface{ text(dst []byte) []byte }

// textMessage leaves a message without fields out.
func textMessage(dst []byte, name string, m textFields) []byte {
	before := len(dst)
	dst = append(textName(dst, name), '{')
	inside := len(dst)
	dst = m.text(dst)
	if len(dst) == inside {
		return dst[:before]
	}
	return append(dst, '}')
}

func textMessageAlways(dst []byte, name string, m textFields) []byte {
	return append(m.text(append(textName(dst, name), '{')), '}')
}

func textMessages[M any, P interface {
	*M
	textFields
}](dst []byte, name string, list []M) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(textName(dst, name), '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(P(&list[i]).text(append(dst, '{')), '}')
	}
	return append(dst, ']')
}
