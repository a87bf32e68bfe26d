package protocol

// Foreign tells what other protocol the first bytes of a connection belong to, 0 when it looks like none. It is asked
// only when they do not begin with a Connect; a few bytes are enough [P-2.4].
func Foreign(first []byte) Code {
	switch {
	case prefix(first, "\x16\x03"):
		return CodeNotLifelineTLS
	case prefix(first, "PROXY "), prefix(first, "\r\n\r\n\x00\r\nQUIT\n"):
		return CodeNotLifelineProxy
	}
	for _, method := range []string{"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "CONNECT ", "PATCH ", "TRACE ", "PRI * "} {
		if prefix(first, method) {
			return CodeNotLifelineHTTP
		}
	}
	return 0
}

// prefix compares as many bytes as both have, at least two.
func prefix(b []byte, want string) bool {
	n := min(len(b), len(want))
	return n >= 2 && string(b[:n]) == want[:n]
}
