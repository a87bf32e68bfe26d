package protocol

// Bounds of presence [P-6.36], [P-6.38].
const (
	MaxPresenceUsers   = 200 // of one Presence
	MaxPresenceDevices = 10  // named of one user
)

// Presence asks who of some users is online. PresenceList answers it.
type Presence struct {
	ID    uint64
	Users [][]byte // a reader takes any number; the handler refuses more than MaxPresenceUsers
}

func (*Presence) Type() Type { return TypePresence }

func (f *Presence) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypePresence)
	dst = appendUint(dst, 1, f.ID)
	for _, user := range f.Users {
		dst = appendBytesAlways(dst, 2, user)
	}
	return end(dst, at)
}

func (f *Presence) Parse(body []byte) error {
	*f = Presence{Users: f.Users[:0]}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			f.ID = d.num
		case 2<<3 | wireBytes:
			f.Users = append(f.Users, d.text())
		}
	}
	return d.err
}

func (f *Presence) AppendText(dst []byte) []byte {
	dst = textUint(append(dst, "presence"...), "id", f.ID)
	return textStrings(dst, "users", f.Users)
}
