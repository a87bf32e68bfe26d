package protocol

// Version is the protocol version that this package speaks.
const Version = 1

// CapabilityConversations is the bit of Connect.Capabilities of a client that understands entries of kind conversation.
// Every other kind needs none [P-6.13].
const CapabilityConversations = 1 << 0

// Connect is the first frame of a connection. Connack answers it, or Close.
type Connect struct {
	Version       uint32
	Capabilities  uint64 // CapabilityConversations, or 0
	Token         []byte
	Device        []byte
	Instance      uint64 // random per process of the SDK
	Attempt       uint64 // rising within the process
	Platform      Platform
	AppVersion    []byte
	Activity      Activity
	Network       Network
	MaxPayload    uint32 // the largest payload that the client takes
	Epoch         []byte // 16 bytes, or none on first login
	Pos           uint64 // last position persisted
	HasPos        bool
	MaxBacklog    uint64 // more behind than this: reset; 0 = no limit
	PreviousClose Code   // last code seen since the last Connack, 0 = none [P-6.35]
	Duplicates    uint64 // dropped by the client since its last report
}

// Network is what the client knows about its network.
type Network struct {
	Class NetworkClass
	Key   uint64
	LowS  uint32 // proven heartbeat bounds for Key, in seconds, 0 = none
	HighS uint32
}

func (*Connect) Type() Type { return TypeConnect }

func (f *Connect) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeConnect)
	dst = appendUint(dst, 1, uint64(f.Version))
	dst = appendUint(dst, 2, f.Capabilities)
	dst = appendBytes(dst, 3, f.Token)
	dst = appendBytes(dst, 4, f.Device)
	dst = appendFixed64(dst, 5, f.Instance)
	dst = appendUint(dst, 6, f.Attempt)
	dst = appendEnum(dst, 7, f.Platform)
	dst = appendBytes(dst, 8, f.AppVersion)
	dst = appendEnum(dst, 9, f.Activity)
	dst, inner := begin(dst, 10)
	dst = endOptional(f.Network.append(dst), inner)
	dst = appendUint(dst, 11, uint64(f.MaxPayload))
	dst = appendBytes(dst, 12, f.Epoch)
	if f.HasPos {
		dst = appendUintAlways(dst, 13, f.Pos)
	}
	dst = appendUint(dst, 14, f.MaxBacklog)
	dst = appendUint(dst, 15, uint64(f.PreviousClose))
	dst = appendUintHigh(dst, 16, f.Duplicates)
	return end(dst, at)
}

func (f *Connect) Parse(body []byte) error {
	*f = Connect{}
	d := decoder{body: body}
	for d.next() {
		f.field(&d)
	}
	return d.err
}

func (f *Connect) field(d *decoder) {
	switch d.tag {
	case 1<<3 | wireVarint:
		f.Version = uint32(d.num)
	case 2<<3 | wireVarint:
		f.Capabilities = d.num
	case 3<<3 | wireBytes:
		f.Token = d.raw()
	case 4<<3 | wireBytes:
		f.Device = d.text()
	case 5<<3 | wireFixed64:
		f.Instance = d.num
	case 6<<3 | wireVarint:
		f.Attempt = d.num
	case 7<<3 | wireVarint:
		f.Platform = Platform(d.num)
	case 8<<3 | wireBytes:
		f.AppVersion = d.text()
	case 9<<3 | wireVarint:
		f.Activity = Activity(d.num)
	case 10<<3 | wireBytes:
		d.fail(f.Network.merge(d.data()))
	case 11<<3 | wireVarint:
		f.MaxPayload = uint32(d.num)
	case 12<<3 | wireBytes:
		f.Epoch = d.id16()
	case 13<<3 | wireVarint:
		f.Pos, f.HasPos = d.num, true
	case 14<<3 | wireVarint:
		f.MaxBacklog = d.num
	case 15<<3 | wireVarint:
		f.PreviousClose = d.code()
	case 16<<3 | wireVarint:
		f.Duplicates = d.num
	}
}

func (f *Connect) AppendText(dst []byte) []byte {
	dst = textUint(append(dst, "connect"...), "version", uint64(f.Version))
	dst = textUint(dst, "capabilities", f.Capabilities)
	dst = textSize(dst, "token", f.Token)
	dst = textString(dst, "device", f.Device)
	dst = textWord(dst, "instance", f.Instance)
	dst = textUint(dst, "attempt", f.Attempt)
	dst = textEnum(dst, "platform", f.Platform)
	dst = textString(dst, "app_version", f.AppVersion)
	dst = textEnum(dst, "activity", f.Activity)
	dst = textMessage(dst, "network", &f.Network)
	dst = textUint(dst, "max_payload", uint64(f.MaxPayload))
	dst = textHex(dst, "epoch", f.Epoch)
	if f.HasPos {
		dst = textUintAlways(dst, "pos", f.Pos)
	}
	dst = textUint(dst, "max_backlog", f.MaxBacklog)
	dst = textCode(dst, "previous_close", f.PreviousClose)
	return textUint(dst, "duplicates", f.Duplicates)
}

func (n *Network) append(dst []byte) []byte {
	dst = appendEnum(dst, 1, n.Class)
	dst = appendFixed64(dst, 2, n.Key)
	dst = appendUint(dst, 3, uint64(n.LowS))
	return appendUint(dst, 4, uint64(n.HighS))
}

func (n *Network) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			n.Class = NetworkClass(d.num)
		case 2<<3 | wireFixed64:
			n.Key = d.num
		case 3<<3 | wireVarint:
			n.LowS = uint32(d.num)
		case 4<<3 | wireVarint:
			n.HighS = uint32(d.num)
		}
	}
	return d.err
}

func (n *Network) text(dst []byte) []byte {
	dst = textEnum(dst, "class", n.Class)
	dst = textWord(dst, "key", n.Key)
	dst = textUint(dst, "low_s", uint64(n.LowS))
	return textUint(dst, "high_s", uint64(n.HighS))
}
