package protocol

import (
	"strconv"
	"strings"
)

// Code says why a request was refused or a connection ended. 0 is success. Ranges: 1-99 connection, 100-199 auth,
// 200-299 request, 300-399 capacity, 400-499 displaced, kicked or banned, 500 and above faults of the server [P-5.2].
type Code uint16

const (
	CodeBye                Code = 1
	CodeSilent             Code = 2
	CodeConnectTimeout     Code = 3
	CodePreauthOverflow    Code = 4
	CodeProtocolViolation  Code = 5
	CodeMalformed          Code = 6
	CodeFrameTooLarge      Code = 7
	CodeFrameTooSmall      Code = 8
	CodeUnsupported        Code = 9
	CodeUnsupportedVersion Code = 10
	CodeNotLifelineTLS     Code = 11
	CodeNotLifelineHTTP    Code = 12
	CodeNotLifelineProxy   Code = 13
	CodeSlowConsumer       Code = 14
	CodeResync             Code = 15
	CodeUnexpectedFrame    Code = 16
	CodeTooManyPings       Code = 17
	CodeEOF                Code = 18
	CodeReset              Code = 19

	CodeBadToken       Code = 100
	CodeTokenExpired   Code = 101
	CodeDeviceMismatch Code = 102

	CodeInvalidID       Code = 200
	CodePayloadTooLarge Code = 201
	CodeNotMember       Code = 202
	CodeNoSuchGroup     Code = 203
	CodeNoSuchUser      Code = 204
	CodeConflict        Code = 205
	CodeOutOfOrder      Code = 206
	CodeBadRange        Code = 207
	CodeAckBeyondSent   Code = 208

	CodeBusy               Code = 300
	CodeMemory             Code = 301
	CodeStorageFull        Code = 302
	CodeDraining           Code = 303
	CodeNotHere            Code = 304
	CodeTooManyConnections Code = 305

	CodeSuperseded Code = 400
	CodeDisplaced  Code = 401
	CodeKicked     Code = 402
	CodeBanned     Code = 403
	CodeLoggedOut  Code = 404

	CodeInternal Code = 500
)

// String is the name in capitals, or the number of a code without a name.
func (c Code) String() string {
	if info := codes[c]; info != nil {
		return info.name
	}
	return strconv.Itoa(int(c))
}

// Metric is the name in small letters. The set is closed: every code without a name is "unknown".
func (c Code) Metric() string {
	if info := codes[c]; info != nil {
		return info.metric
	}
	return "unknown"
}

// Retry is the code's retry class.
func (c Code) Retry() RetryClass {
	if info := codes[c]; info != nil {
		return info.retry
	}
	return RetryUnspecified
}

// Local tells whether the code only names why a connection ended on this side, in metrics and logs: it is never sent.
func (c Code) Local() bool { return codes[c] != nil && codes[c].local }

// Sentence says to a person who reads logs what happened and what to do next [P-5.4].
func (c Code) Sentence() string {
	if info := codes[c]; info != nil {
		return string(info.sentence)
	}
	return ""
}

// Status is the code with its retry class, its usual hints and its sentence: what every refusal carries [P-4.2].
// Callers may change the hints. Detail is shared and must not be written to.
func (c Code) Status() Status {
	info := codes[c]
	if info == nil {
		return Status{Code: c}
	}
	return Status{
		Code:          c,
		Retry:         info.retry,
		RetryMinMs:    info.minMs,
		RetryWindowMs: info.windowMs,
		Detail:        info.sentence,
	}
}

// Codes lists every code with a name, in rising order.
func Codes() []Code {
	list := make([]Code, len(codeTable))
	for i := range codeTable {
		list[i] = codeTable[i].code
	}
	return list
}

type codeInfo struct {
	code            Code
	name            string
	retry           RetryClass
	minMs, windowMs uint32
	local           bool
	sentence        []byte
	metric          string
}

var codes = indexCodes()

func indexCodes() map[Code]*codeInfo {
	index := make(map[Code]*codeInfo, len(codeTable))
	for i := range codeTable {
		info := &codeTable[i]
		info.metric = strings.ToLower(info.name)
		index[info.code] = info
	}
	return index
}
