package commit

import (
	"bytes"
	"encoding/binary"

	"lifeline/store"
)

// A key is partition(1) space(1) fields. All that belongs to one conversation or one user lies together, because one
// send reads and writes several of its keys: what the first look-up brought near, the others find there. Ids hold no
// byte below 0x20 except the separator of a direct conversation (0x1f), so a zero byte ends an id, keeps the order of
// ids, and no id's keys fall among another's. Numbers are big endian. docs/store.md has the table, TestKeys the bytes.
const (
	spaceApplied      = 'a' // nothing                           → applied index of the partition
	spaceConversation = 'c' // conversation 00 table …           in the partition of the conversation's name
	spaceExpiry       = 'e' // day(4) conversation               → nothing: it has client ids of that day
	spaceObligation   = 'o' // conversation 00 index(8)          → what is still owed to inboxes
	spaceMeta         = 's' // nothing                           → epoch, boot number; in nobody's partition
	spaceUser         = 'u' // user 00 table …                   in the partition of the user's id

	// Of a conversation. The head lies behind the last message.
	tableDedup        = 'd' // hash(16)                          → Seq, message id, time, payload hash
	tableMember       = 'g' // user                              → spans of visible Seqs
	tableMessage      = 'm' // Seq(8)                            → message
	tableConversation = 'n' // nothing                           → head, trimmed-through, members, obligations

	// Of a user. The head lies behind the last entry.
	tableEntry  = 'i' // Pos(8)                                  → kind, conversation, Seq, time
	tableInbox  = 'j' // nothing                                 → head, trimmed-through
	tableCursor = 'k' // device                                  → Pos, platform, last seen
)

// ownPartition stands in the keys that belong to the store itself.
const ownPartition = 0xff

// partitionOf is the partition of a conversation's or a user's keys: FNV-1a, 64 bits, folded to 32, modulo 64.
func partitionOf(id string) uint8 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(id); i++ {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	return uint8(uint32(h^h>>32) % store.Partitions)
}

func appendConversationKey(dst []byte, p uint8, conversation string) []byte {
	return appendOwned(dst, p, spaceConversation, conversation, tableConversation)
}

func appendMessageKey(dst []byte, p uint8, conversation string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(appendOwned(dst, p, spaceConversation, conversation, tableMessage), seq)
}

func appendMemberKey(dst []byte, p uint8, conversation, user string) []byte {
	return append(appendOwned(dst, p, spaceConversation, conversation, tableMember), user...)
}

func appendDedupKey(dst []byte, p uint8, conversation string, hash *[16]byte) []byte {
	return append(appendOwned(dst, p, spaceConversation, conversation, tableDedup), hash[:]...)
}

func appendExpiryKey(dst []byte, p uint8, day uint32, conversation string) []byte {
	return append(binary.BigEndian.AppendUint32(append(dst, p, spaceExpiry), day), conversation...)
}

// expiryDay is the day in an expiry key.
func expiryDay(key []byte) uint32 { return binary.BigEndian.Uint32(key[2:]) }

func appendObligationKey(dst []byte, p uint8, conversation string, index uint64) []byte {
	dst = append(append(append(dst, p, spaceObligation), conversation...), 0)
	return binary.BigEndian.AppendUint64(dst, index)
}

func appendInboxKey(dst []byte, p uint8, user string) []byte {
	return appendOwned(dst, p, spaceUser, user, tableInbox)
}

func appendEntryKey(dst []byte, p uint8, user string, pos uint64) []byte {
	return binary.BigEndian.AppendUint64(appendOwned(dst, p, spaceUser, user, tableEntry), pos)
}

func appendCursorKey(dst []byte, p uint8, user, device string) []byte {
	return append(appendOwned(dst, p, spaceUser, user, tableCursor), device...)
}

func appendAppliedKey(dst []byte, p uint8) []byte { return append(dst, p, spaceApplied) }

func metaKey() []byte { return []byte{ownPartition, spaceMeta} }

// appendOwned begins the keys of one table of a conversation or a user. With table+1 it is their upper bound.
func appendOwned(dst []byte, p uint8, space byte, owner string, table byte) []byte {
	return append(append(append(append(dst, p, space), owner...), 0), table)
}

// splitOwner takes apart a key of the spaces c, o and u: the owner, and what follows the zero byte.
func splitOwner(key []byte) (owner, rest []byte, ok bool) {
	if len(key) < 2 {
		return nil, nil, false
	}
	return bytes.Cut(key[2:], []byte{0})
}

// number is the Seq, Pos or index that ends a key; no key has 0.
func number(field []byte) uint64 {
	if len(field) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(field)
}
