package protocol

// EntryKind tells which field of the oneof in Entry is set.
type EntryKind uint8

const (
	EntryNone         EntryKind = 0 // a later kind that this package does not know; its Pos counts [P-6.13]
	EntryMessage      EntryKind = 2
	EntryRecall       EntryKind = 3
	EntryRead         EntryKind = 4
	EntryReceipt      EntryKind = 5
	EntryConversation EntryKind = 6
	EntryVoid         EntryKind = 7
)

// Entry is one position of a user's inbox. Of the fields below Kind only the one that it names counts.
type Entry struct {
	Pos          uint64
	Kind         EntryKind
	Message      Message
	Recall       Recall
	Read         Read
	Receipt      Receipt
	Conversation ConversationRow
	Void         Void
}

// Recall says that a message was taken back.
type Recall struct {
	Conversation []byte
	Seq          uint64
	By           []byte
}

// Read says that the user has read a conversation up to Seq on one of the devices.
type Read struct {
	Conversation []byte
	Seq          uint64
}

// Receipt says that the peer has read a direct conversation up to Seq.
type Receipt struct {
	Conversation []byte
	Seq          uint64
	Reader       []byte
}

// ConversationRow tells a change of the user's membership, as it was when it happened [P-6.42].
type ConversationRow struct {
	Conversation []byte
	Member       bool   // true: joined
	FirstSeq     uint64 // of one who joined: the first visible from then on
	LastSeq      uint64 // of one who left: the last visible until then
}

// Void stands for the positions from the entry's Pos to To, of which nothing is to be shown [P-6.13].
type Void struct {
	To uint64
}

func (e *Entry) append(dst []byte) []byte {
	dst = appendUint(dst, 1, e.Pos)
	if e.Kind == EntryNone {
		return dst
	}
	dst, at := begin(dst, byte(e.Kind))
	switch e.Kind {
	case EntryMessage:
		dst = e.Message.append(dst)
	case EntryRecall:
		dst = e.Recall.append(dst)
	case EntryRead:
		dst = e.Read.append(dst)
	case EntryReceipt:
		dst = e.Receipt.append(dst)
	case EntryConversation:
		dst = e.Conversation.append(dst)
	case EntryVoid:
		dst = e.Void.append(dst)
	}
	return end(dst, at)
}

func (e *Entry) merge(body []byte) error {
	d := decoder{body: body}
	for d.next() {
		switch d.tag {
		case 1<<3 | wireVarint:
			e.Pos = d.num
		case 2<<3 | wireBytes:
			e.become(EntryMessage)
			d.fail(e.Message.merge(d.data()))
		case 3<<3 | wireBytes:
			e.become(EntryRecall)
			d.fail(e.Recall.merge(d.data()))
		case 4<<3 | wireBytes:
			e.become(EntryRead)
			d.fail(e.Read.merge(d.data()))
		case 5<<3 | wireBytes:
			e.become(EntryReceipt)
			d.fail(e.Receipt.merge(d.data()))
		case 6<<3 | wireBytes:
			e.become(EntryConversation)
			d.fail(e.Conversation.merge(d.data()))
		case 7<<3 | wireBytes:
			e.become(EntryVoid)
			d.fail(e.Void.merge(d.data()))
		}
	}
	return d.err
}

// become sets the kind. As in every oneof the last one wins, and the same one twice is merged.
func (e *Entry) become(k EntryKind) {
	if e.Kind != k && e.Kind != EntryNone {
		*e = Entry{Pos: e.Pos}
	}
	e.Kind = k
}

func (e *Entry) text(dst []byte) []byte {
	dst = textUint(dst, "pos", e.Pos)
	switch e.Kind {
	case EntryMessage:
		return textMessageAlways(dst, "message", &e.Message)
	case EntryRecall:
		return textMessageAlways(dst, "recall", &e.Recall)
	case EntryRead:
		return textMessageAlways(dst, "read", &e.Read)
	case EntryReceipt:
		return textMessageAlways(dst, "receipt", &e.Receipt)
	case EntryConversation:
		return textMessageAlways(dst, "conversation", &e.Conversation)
	case EntryVoid:
		return textMessageAlways(dst, "void", &e.Void)
	}
	return dst
}
