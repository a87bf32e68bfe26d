package delivery

import (
	"unsafe"

	"lifeline/protocol"
	"lifeline/server/auth"
	"lifeline/store"
)

// CodeOf is the wire's word for a store's refusal; 0 for None.
func CodeOf(r store.Refusal) protocol.Code { return refusalCodes[r] }

var refusalCodes = [...]protocol.Code{
	store.None:           0,
	store.Busy:           protocol.CodeBusy,
	store.StorageFull:    protocol.CodeStorageFull,
	store.Closed:         protocol.CodeDraining,
	store.InvalidID:      protocol.CodeInvalidID,
	store.TooLarge:       protocol.CodePayloadTooLarge,
	store.NotMember:      protocol.CodeNotMember,
	store.NoSuchGroup:    protocol.CodeNoSuchGroup,
	store.Conflict:       protocol.CodeConflict,
	store.StaleVersion:   protocol.CodeConflict,
	store.TooManyMembers: protocol.CodeConflict,
	store.Overdue:        protocol.CodeBusy,
}

// CodeOfToken is the wire's word for a token that was not accepted; 0 for None.
func CodeOfToken(r auth.Refusal) protocol.Code { return tokenCodes[r] }

var tokenCodes = [...]protocol.Code{
	auth.None:           0,
	auth.BadToken:       protocol.CodeBadToken,
	auth.Expired:        protocol.CodeTokenExpired,
	auth.DeviceMismatch: protocol.CodeDeviceMismatch,
	auth.Internal:       protocol.CodeInternal,
}

// kinds maps an inbox entry's kind; a kind missing here goes out as a void.
var kinds = map[store.Kind]protocol.EntryKind{
	store.KindMessage:      protocol.EntryMessage,
	store.KindConversation: protocol.EntryConversation,
}

// capable reports whether a client with these capabilities can be sent that kind.
func capable(k protocol.EntryKind, capabilities uint32) bool {
	return k != protocol.EntryConversation || capabilities&protocol.CapabilityConversations != 0
}

var gapReasons = [...]protocol.GapReason{
	store.NotJoined: protocol.GapNotJoined,
	store.Hidden:    protocol.GapHidden,
	store.Trimmed:   protocol.GapTrimmed,
}

// fillMessage sets dst to m; its slices alias m's. The client id is for the sender's own devices only [P-6.14].
func fillMessage(dst *protocol.Message, m *store.Message, own bool) {
	*dst = protocol.Message{Conversation: view(m.Conversation), Seq: m.Seq, MessageID: m.ID[:], Sender: view(m.Sender),
		SenderDevice: view(m.SenderDevice), TimeMs: uint64(m.Time), State: protocol.MessageState(m.State),
		Payload: m.Payload, HasPayload: true}
	if own {
		dst.ClientID = m.ClientID
	}
}

// fillEntry sets dst to e as the user may see it, a change of membership as it was [P-6.42], or to a void.
func fillEntry(dst *protocol.Entry, e *store.Entry, user string) {
	*dst = protocol.Entry{Pos: e.Pos, Kind: kinds[e.Kind]}
	switch {
	case e.Void || dst.Kind == protocol.EntryNone:
		*dst = voidEntry(e.Pos, e.Pos)
	case e.Kind == store.KindMessage:
		fillMessage(&dst.Message, e.Message, e.Message.Sender == user)
	case e.Kind == store.KindConversation:
		m := e.Membership
		dst.Conversation = protocol.ConversationRow{Conversation: view(m.Conversation), Member: m.Member,
			FirstSeq: m.FirstSeq, LastSeq: m.LastSeq}
	}
}

// voidEntry stands for positions of which nothing is to be shown.
func voidEntry(from, to uint64) protocol.Entry {
	return protocol.Entry{Pos: from, Kind: protocol.EntryVoid, Void: protocol.Void{To: to}}
}

// view returns the bytes of s without a copy. Nobody may write to them: what is filled here is only encoded.
func view(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
