package protocol

// codeTable is the one place that knows a code's name, class, usual hints and sentence.
var codeTable = []codeInfo{
	row(CodeBye, "BYE", RetryStop, "The client said goodbye."),
	row(CodeSilent, "SILENT", RetryNow, "No frame came within the heartbeat and its window; connect again."),
	after(CodeConnectTimeout, "CONNECT_TIMEOUT", 1_000, 5_000, "No complete Connect came in time; connect again."),
	after(CodePreauthOverflow, "PREAUTH_OVERFLOW", 5_000, 30_000, "More than 4096 bytes came before Connack; send less, or a shorter token."),
	after(CodeProtocolViolation, "PROTOCOL_VIOLATION", 5_000, 30_000, "The frame breaks a rule of the protocol; report this client's version."),
	after(CodeMalformed, "MALFORMED", 5_000, 30_000, "The frame cannot be read; report this client's version."),
	after(CodeFrameTooLarge, "FRAME_TOO_LARGE", 5_000, 30_000, "The frame is longer than Connack allows; send smaller frames."),
	row(CodeFrameTooSmall, "FRAME_TOO_SMALL", RetryStop, "The client cannot take this server's payload limit; update the app."),
	row(CodeUnsupported, "UNSUPPORTED", RetryFixRequest, "The server does not know this type of frame; do without it."),
	row(CodeUnsupportedVersion, "UNSUPPORTED_VERSION", RetryStop, "The server does not speak this version of the protocol; update the app."),
	ours(CodeNotLifelineTLS, "NOT_LIFELINE_TLS", "The peer speaks TLS on a plain port."),
	ours(CodeNotLifelineHTTP, "NOT_LIFELINE_HTTP", "The peer speaks HTTP on a Lifeline port."),
	ours(CodeNotLifelineProxy, "NOT_LIFELINE_PROXY", "A PROXY header came to a port that is not configured for it."),
	after(CodeSlowConsumer, "SLOW_CONSUMER", 5_000, 30_000, "The client reads or acknowledges too slowly; connect again."),
	row(CodeResync, "RESYNC", RetryNow, "What comes next is no longer stored; connect again and fetch the conversations."),
	after(CodeUnexpectedFrame, "UNEXPECTED_FRAME", 5_000, 30_000, "This frame is not allowed now; report this client's version."),
	after(CodeTooManyPings, "TOO_MANY_PINGS", 60_000, 60_000, "The client pings too often in background; obey the granted heartbeat."),
	ours(CodeEOF, "EOF", "The peer closed the connection."),
	ours(CodeReset, "RESET", "The connection broke."),

	row(CodeBadToken, "BAD_TOKEN", RetryRefreshToken, "The token is not valid here; get a new one."),
	row(CodeTokenExpired, "TOKEN_EXPIRED", RetryRefreshToken, "The token has expired; get a new one."),
	row(CodeDeviceMismatch, "DEVICE_MISMATCH", RetryStop, "The token belongs to another device; log in on this one."),

	row(CodeInvalidID, "INVALID_ID", RetryFixRequest, "An id is empty, too long, not UTF-8 or holds control characters."),
	row(CodePayloadTooLarge, "PAYLOAD_TOO_LARGE", RetryFixRequest, "The payload is larger than Connack allows; send less or a link."),
	row(CodeNotMember, "NOT_MEMBER", RetryFixRequest, "The user may not write to this conversation."),
	row(CodeNoSuchGroup, "NO_SUCH_GROUP", RetryFixRequest, "There is no such group."),
	row(CodeNoSuchUser, "NO_SUCH_USER", RetryFixRequest, "There is no such user."),
	row(CodeConflict, "CONFLICT", RetryFixRequest, "This client id was used for another payload; make a new client id."),
	after(CodeOutOfOrder, "OUT_OF_ORDER", 0, 0, "An earlier Send was refused; send that one again first, or say skip_order."),
	row(CodeBadRange, "BAD_RANGE", RetryFixRequest, "The range of history is empty, reversed or wider than 100, or the list of users is empty or longer than 200."),
	after(CodeAckBeyondSent, "ACK_BEYOND_SENT", 5_000, 30_000, "The acknowledged position was never sent on this connection; report this client's version."),

	after(CodeBusy, "BUSY", 500, 2_000, "The server is busy; try again."),
	after(CodeMemory, "MEMORY", 1_000, 10_000, "The server has no memory for this now; try again."),
	after(CodeStorageFull, "STORAGE_FULL", 30_000, 60_000, "The server's disk is full; try again later."),
	after(CodeDraining, "DRAINING", 0, 5_000, "The server is about to stop; connect to another of the hosts."),
	after(CodeNotHere, "NOT_HERE", 0, 1_000, "This server may not store now, for another one has a store of its own; try again."),
	after(CodeTooManyConnections, "TOO_MANY_CONNECTIONS", 5_000, 30_000, "The server holds as many connections as it may; try again."),

	row(CodeSuperseded, "SUPERSEDED", RetryIgnore, "A newer connection of this process has taken over."),
	row(CodeDisplaced, "DISPLACED", RetryStop, "This device logged in from another process."),
	row(CodeKicked, "KICKED", RetryStop, "The operator ended this session."),
	row(CodeBanned, "BANNED", RetryStop, "The user may not connect."),
	row(CodeLoggedOut, "LOGGED_OUT", RetryStop, "The user logged out of this device."),

	after(CodeInternal, "INTERNAL", 1_000, 10_000, "The server failed; try again."),
}

func row(code Code, name string, retry RetryClass, sentence string) codeInfo {
	return codeInfo{code: code, name: name, retry: retry, sentence: []byte(sentence)}
}

func after(code Code, name string, minMs, windowMs uint32, sentence string) codeInfo {
	info := row(code, name, RetryAfter, sentence)
	info.minMs, info.windowMs = minMs, windowMs
	return info
}

// ours is a row of a code that is never sent.
func ours(code Code, name, sentence string) codeInfo {
	info := row(code, name, RetryUnspecified, sentence)
	info.local = true
	return info
}
