package protocol

// Type is the byte after a frame's length.
type Type uint8

// The types of frames. 0x03 is never given: behind a length of 22 it would read as the start of TLS [P-2.3].
const (
	TypeConnect       Type = 0x01 // C->S
	TypeConnack       Type = 0x02 // S->C
	TypePing          Type = 0x04 // C->S
	TypePong          Type = 0x05 // S->C
	TypeEcho          Type = 0x06 // S->C
	TypeProbe         Type = 0x07 // S->C
	TypeProbeAck      Type = 0x08 // C->S
	TypeState         Type = 0x09 // C->S
	TypeSend          Type = 0x0A // C->S
	TypeSendack       Type = 0x0B // S->C
	TypePush          Type = 0x0C // S->C
	TypeAck           Type = 0x0D // C->S
	TypePull          Type = 0x0E // C->S
	TypePulled        Type = 0x0F // S->C
	TypeRead          Type = 0x10 // C->S, reserved
	TypeRecall        Type = 0x11 // C->S, reserved
	TypeConversation  Type = 0x12 // C->S, reserved
	TypeConversations Type = 0x13 // C->S, reserved

	TypeConversationList Type = 0x14 // S->C, reserved
	TypeReauth           Type = 0x16 // C->S
	TypeBye              Type = 0x17 // C->S
	TypeResult           Type = 0x18 // S->C
	TypeError            Type = 0x19 // S->C
	TypeClose            Type = 0x1A // S->C
	TypePresence         Type = 0x1B // C->S
	TypePresenceList     Type = 0x1C // S->C
)

// Bounds of the ranges of types [P-2.2].
const (
	firstIgnorable Type = 0x80
	firstNode      Type = 0xC0
)

// typeInfo is a row of the type table. A nil frame means that the number is given and the body is not defined yet [P-2.1].
type typeInfo struct {
	name       string
	fromClient bool
	frame      func() Frame
}

var types = [256]typeInfo{
	TypeConnect:          {"connect", true, func() Frame { return new(Connect) }},
	TypeConnack:          {"connack", false, func() Frame { return new(Connack) }},
	TypePing:             {"ping", true, func() Frame { return new(Ping) }},
	TypePong:             {"pong", false, func() Frame { return new(Pong) }},
	TypeEcho:             {"echo", false, func() Frame { return new(Echo) }},
	TypeProbe:            {"probe", false, func() Frame { return new(Probe) }},
	TypeProbeAck:         {"probeack", true, func() Frame { return new(ProbeAck) }},
	TypeState:            {"state", true, func() Frame { return new(State) }},
	TypeSend:             {"send", true, func() Frame { return new(Send) }},
	TypeSendack:          {"sendack", false, func() Frame { return new(Sendack) }},
	TypePush:             {"push", false, func() Frame { return new(Push) }},
	TypeAck:              {"ack", true, func() Frame { return new(Ack) }},
	TypePull:             {"pull", true, func() Frame { return new(Pull) }},
	TypePulled:           {"pulled", false, func() Frame { return new(Pulled) }},
	TypeRead:             {"read", true, nil},
	TypeRecall:           {"recall", true, nil},
	TypeConversation:     {"conversation", true, nil},
	TypeConversations:    {"conversations", true, nil},
	TypeConversationList: {"conversationlist", false, nil},
	TypeReauth:           {"reauth", true, func() Frame { return new(Reauth) }},
	TypeBye:              {"bye", true, func() Frame { return new(Bye) }},
	TypeResult:           {"result", false, func() Frame { return new(Result) }},
	TypeError:            {"error", false, func() Frame { return new(Error) }},
	TypeClose:            {"close", false, func() Frame { return new(Close) }},
	TypePresence:         {"presence", true, func() Frame { return new(Presence) }},
	TypePresenceList:     {"presencelist", false, func() Frame { return new(PresenceList) }},
}

// String names a type for text and metrics. The set is closed: every type without a name is "unknown".
func (t Type) String() string {
	if name := types[t].name; name != "" {
		return name
	}
	return "unknown"
}

// FromClient tells whether a client may send this type.
func (t Type) FromClient() bool { return types[t].fromClient }

// Ignorable tells whether a receiver that does not know the type drops the frame in silence [P-2.2].
func (t Type) Ignorable() bool { return t >= firstIgnorable && t < firstNode }

// Node tells whether the type belongs to the line between nodes, which a client's port refuses [P-2.2].
func (t Type) Node() bool { return t >= firstNode }

// Types lists every given type in rising order.
func Types() []Type {
	var list []Type
	for t := range 256 {
		if types[t].name != "" {
			list = append(list, Type(t))
		}
	}
	return list
}
