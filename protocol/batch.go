package protocol

// tail is the room a batch keeps for its last field, more.
const tail = 2

// PushBatch builds a Push entry by entry and never beyond a length. It is a value; the zero one is of no use.
type PushBatch struct {
	dst  []byte
	at   int // of the frame's length
	max  int
	size int // entries
}

// BeginPush opens a Push behind dst whose length, type and body, will not pass max.
func BeginPush(dst []byte, max int) PushBatch {
	dst, at := beginFrame(dst, TypePush)
	return PushBatch{dst: dst, at: at, max: max}
}

// AddMessage adds an entry whose message was encoded before. It is false when there is no room, and then nothing changed.
func (b *PushBatch) AddMessage(pos uint64, message []byte) bool {
	inner := entrySize(pos, len(message))
	if b.Length()+1+uvarintSize(uint64(inner))+inner > b.max-tail {
		return false
	}
	b.dst = appendMessageEntry(b.dst, pos, inner, message)
	b.size++
	return true
}

// AddEntry adds an entry of any kind. It is false when there is no room, and then nothing changed.
func (b *PushBatch) AddEntry(e *Entry) bool {
	before := len(b.dst)
	dst, inner := begin(b.dst, 1)
	b.dst = end(e.append(dst), inner)
	if b.Length() > b.max-tail {
		b.dst = b.dst[:before]
		return false
	}
	b.size++
	return true
}

// Len is the number of entries so far.
func (b *PushBatch) Len() int { return b.size }

// Length is the frame's length so far: type and body.
func (b *PushBatch) Length() int { return len(b.dst) - b.at - 1 }

// End closes the frame and returns dst with it.
func (b *PushBatch) End(more bool) []byte { return end(appendBool(b.dst, 2, more), b.at) }

// AppendPushMessage appends a Push with one entry whose message was encoded before.
func AppendPushMessage(dst []byte, pos uint64, message []byte) []byte {
	inner := entrySize(pos, len(message))
	dst = appendUvarint(dst, uint64(1+1+uvarintSize(uint64(inner))+inner))
	return appendMessageEntry(append(dst, byte(TypePush)), pos, inner, message)
}

// entrySize is the size of an entry with a message of n bytes.
func entrySize(pos uint64, n int) int {
	size := 1 + uvarintSize(uint64(n)) + n
	if pos != 0 {
		size += 1 + uvarintSize(pos)
	}
	return size
}

func appendMessageEntry(dst []byte, pos uint64, size int, message []byte) []byte {
	dst = appendUvarint(append(dst, 1<<3|wireBytes), uint64(size))
	dst = appendUint(dst, 1, pos)
	return appendBytesAlways(dst, byte(EntryMessage), message)
}

// PulledBatch builds a Pulled message by message and never beyond a length. It is a value; the zero one is of no use.
type PulledBatch struct {
	dst  []byte
	at   int // of the frame's length
	max  int
	size int // messages
}

// BeginPulled opens a Pulled behind dst with f's fields but its messages and More. Its length, type and body, will not
// pass max through the messages added.
func BeginPulled(dst []byte, max int, f *Pulled) PulledBatch {
	dst, at := beginFrame(dst, TypePulled)
	return PulledBatch{dst: f.appendHead(dst), at: at, max: max}
}

// Add adds a message. It is false when there is no room, and then nothing changed.
func (b *PulledBatch) Add(m *Message) bool {
	before := len(b.dst)
	dst, inner := begin(b.dst, 5)
	b.dst = end(m.append(dst), inner)
	if len(b.dst)-b.at-1 > b.max-tail {
		b.dst = b.dst[:before]
		return false
	}
	b.size++
	return true
}

// Len is the number of messages so far.
func (b *PulledBatch) Len() int { return b.size }

// End closes the frame and returns dst with it.
func (b *PulledBatch) End(more bool) []byte { return end(appendBool(b.dst, 6, more), b.at) }

// PresenceBatch builds a PresenceList user by user and never beyond a length. It is a value; the zero one is of no use.
type PresenceBatch struct {
	dst  []byte
	at   int // of the frame's length
	max  int
	size int // users
}

// BeginPresenceList opens a PresenceList behind dst whose length, type and body, will not pass max. One user always fits
// when max is FrameOverhead or more.
func BeginPresenceList(dst []byte, max int, id uint64) PresenceBatch {
	dst, at := beginFrame(dst, TypePresenceList)
	return PresenceBatch{dst: appendUint(dst, 1, id), at: at, max: max}
}

// Add adds a user, with the first MaxPresenceDevices of the devices. It is false when there is no room, and then nothing
// changed.
func (b *PresenceBatch) Add(u *UserPresence) bool {
	named := *u
	named.Devices = u.Devices[:min(len(u.Devices), MaxPresenceDevices)]
	before := len(b.dst)
	dst, inner := begin(b.dst, 2)
	b.dst = end(named.append(dst), inner)
	if len(b.dst)-b.at-1 > b.max-tail {
		b.dst = b.dst[:before]
		return false
	}
	b.size++
	return true
}

// Len is the number of users so far.
func (b *PresenceBatch) Len() int { return b.size }

// End closes the frame and returns dst with it.
func (b *PresenceBatch) End(more bool) []byte { return end(appendBool(b.dst, 3, more), b.at) }
