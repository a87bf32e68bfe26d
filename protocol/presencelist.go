package protocol

// PresenceList answers a Presence: each user once, in the order in which they were asked for [P-6.37].
type PresenceList struct {
	ID    uint64
	Users []UserPresence
	More  bool // the frame was full: ask again for the users behind the last one
}

// UserPresence is what may be told of one user at the moment of the answer.
type UserPresence struct {
	User       []byte
	State      PresenceState
	LastSeenMs uint64           // only when Offline, 0 = not told
	Devices    []DevicePresence // only when Online; may be left out
}

// DevicePresence is a device that has a session.
type DevicePresence struct {
	Device   []byte
	Platform Platform
	Suspect  bool // a push alone may not reach it
}

func (*PresenceList) Type() Type { return TypePresenceList }

func (f *PresenceList) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypePresenceList)
	dst = appendUint(dst, 1, f.ID)
	for i := range f.Users {
		var inner int
		dst, inner = begin(dst, 2)
		dst = end(f.Users[i].append(dst), inner)
	}
	dst = appendBool(dst, 3, f.More)
	return end(dst, at)
}

func (f *PresenceList) Parse(body []byte) error {
	*f = PresenceList{Users: f.Users[:0]}
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			f.ID = d.num
		case 2<<3 | wireBytes:
			d.fail(f.addUser().merge(d.data()))
		case 3<<3 | wireVarint:
			f.More = d.num != 0
		}
	}
	return d.err
}

// addUser adds an empty user, which keeps the room for devices that an earlier reading left in its place.
func (f *PresenceList) addUser() *UserPresence {
	n := len(f.Users)
	if n < cap(f.Users) {
		f.Users = f.Users[:n+1]
	} else {
		f.Users = append(f.Users, UserPresence{})
	}
	u := &f.Users[n]
	*u = UserPresence{Devices: u.Devices[:0]}
	return u
}

func (f *PresenceList) AppendText(dst []byte) []byte {
	dst = textUint(append(dst, "presencelist"...), "id", f.ID)
	dst = textMessages(dst, "users", f.Users)
	return textBool(dst, "more", f.More)
}

func (u *UserPresence) append(dst []byte) []byte {
	dst = appendBytes(dst, 1, u.User)
	dst = appendEnum(dst, 2, u.State)
	dst = appendUint(dst, 3, u.LastSeenMs)
	for i := range u.Devices {
		var inner int
		dst, inner = begin(dst, 4)
		dst = end(u.Devices[i].append(dst), inner)
	}
	return dst
}

func (u *UserPresence) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireBytes:
			u.User = d.text()
		case 2<<3 | wireVarint:
			u.State = PresenceState(d.num)
		case 3<<3 | wireVarint:
			u.LastSeenMs = d.num
		case 4<<3 | wireBytes:
			u.Devices = append(u.Devices, DevicePresence{})
			d.fail(u.Devices[len(u.Devices)-1].merge(d.data()))
		}
	}
	return d.err
}

func (u *UserPresence) text(dst []byte) []byte {
	dst = textString(dst, "user", u.User)
	dst = textEnum(dst, "state", u.State)
	dst = textUint(dst, "last_seen_ms", u.LastSeenMs)
	return textMessages(dst, "devices", u.Devices)
}

func (p *DevicePresence) append(dst []byte) []byte {
	dst = appendBytes(dst, 1, p.Device)
	dst = appendEnum(dst, 2, p.Platform)
	return appendBool(dst, 3, p.Suspect)
}

func (p *DevicePresence) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireBytes:
			p.Device = d.text()
		case 2<<3 | wireVarint:
			p.Platform = Platform(d.num)
		case 3<<3 | wireVarint:
			p.Suspect = d.num != 0
		}
	}
	return d.err
}

func (p *DevicePresence) text(dst []byte) []byte {
	dst = textString(dst, "device", p.Device)
	dst = textEnum(dst, "platform", p.Platform)
	return textBool(dst, "suspect", p.Suspect)
}
