package loadtest

import "lifeline/protocol"

// longestFrame bounds what a server may send.
const longestFrame = protocol.PayloadCeiling + protocol.FrameOverhead

// split takes the first frame off b. Where it is not whole, size is how many bytes of b it will have, as far as b tells:
// 0 when b ends inside the header.
func split(b []byte) (t protocol.Type, body, rest []byte, size int, err error) {
	h, n, err := protocol.ReadHeader(b, longestFrame)
	if err != nil || n == 0 {
		return 0, nil, b, 0, err
	}
	size = n + h.Body
	if len(b) < size {
		return h.Type, nil, b, size, nil
	}
	return h.Type, b[n:size], b[size:], size, nil
}

// join moves bytes from data to the end of part, which is the beginning of a frame, until the frame is whole.
func join(part, data []byte) (grown, rest []byte, whole bool, err error) {
	for {
		_, _, _, size, err := split(part)
		if err != nil || size > 0 && len(part) == size {
			return part, data, err == nil, err
		}
		if len(data) == 0 {
			return part, nil, false, nil
		}
		n := 1 // the header, byte by byte
		if size > 0 {
			n = min(size-len(part), len(data))
		}
		part, data = append(part, data[:n]...), data[n:]
	}
}
