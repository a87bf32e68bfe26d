package commit

import (
	"encoding/binary"

	"lifeline/store"
)

// A key is partition(1) table(1) fields. Ids hold no byte below 0x20 except the separator of a direct conversation
// (0x1f), so a zero byte ends an id, keeps the order of ids, and no id's keys fall among another's. Numbers are big
// endian. docs/store.md has the table; TestKeys has the bytes.
const (
	// Of a conversation, in the partition of its name.
	tableConversation = 'c' // conversation                     → head, trimmed-through, members, obligations
	tableDedup        = 'd' // hash(16)                         → Seq, message id, time, payload hash
	tableExpiry       = 'e' // day(4) index(8)                  → hashes of the dedup rows to delete after that day
	tableMember       = 'g' // conversation 00 user             → spans of visible Seqs
	tableMessage      = 'm' // conversation 00 Seq(8)           → message
	tableObligation   = 'o' // conversation 00 index(8)         → what is still owed to inboxes

	// Of a user, in the partition of the user's id.
	tableInbox  = 'h' // user                                   → head, trimmed-through
	tableEntry  = 'i' // user 00 Pos(8)                         → kind, conversation, Seq, time
	tableCursor = 'k' // user 00 device                         → Pos, platform, last seen

	// Of a partition.
	tableApplied = 'a' // nothing                               → applied index

	// Of the store, in the partition that belongs to nobody.
	tableMeta = 's' // nothing                                  → epoch, boot number, number of partitions
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
	return append(append(dst, p, tableConversation), conversation...)
}

func appendMessageKey(dst []byte, p uint8, conversation string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(appendOwner(dst, p, tableMessage, conversation), seq)
}

func appendMemberKey(dst []byte, p uint8, conversation, user string) []byte {
	return append(appendOwner(dst, p, tableMember, conversation), user...)
}

func appendObligationKey(dst []byte, p uint8, conversation string, index uint64) []byte {
	return binary.BigEndian.AppendUint64(appendOwner(dst, p, tableObligation, conversation), index)
}

func appendDedupKey(dst []byte, p uint8, hash *[16]byte) []byte {
	return append(append(dst, p, tableDedup), hash[:]...)
}

func appendExpiryKey(dst []byte, p uint8, day uint32, index uint64) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, p, tableExpiry), day)
	return binary.BigEndian.AppendUint64(dst, index)
}

func appendInboxKey(dst []byte, p uint8, user string) []byte {
	return append(append(dst, p, tableInbox), user...)
}

func appendEntryKey(dst []byte, p uint8, user string, pos uint64) []byte {
	return binary.BigEndian.AppendUint64(appendOwner(dst, p, tableEntry, user), pos)
}

func appendCursorKey(dst []byte, p uint8, user, device string) []byte {
	return append(appendOwner(dst, p, tableCursor, user), device...)
}

func appendAppliedKey(dst []byte, p uint8) []byte { return append(dst, p, tableApplied) }

func metaKey() []byte { return []byte{ownPartition, tableMeta} }

// appendOwner begins the keys of one conversation's or user's part of a table; with end instead of the zero byte it is
// their upper bound.
func appendOwner(dst []byte, p uint8, table byte, id string) []byte {
	return append(append(append(dst, p, table), id...), 0)
}

func appendOwnerEnd(dst []byte, p uint8, table byte, id string) []byte {
	return append(append(append(dst, p, table), id...), 1)
}

// splitOwner takes the id and what follows it out of a key that appendOwner began.
func splitOwner(key []byte) (id, rest []byte, ok bool) {
	for i := 2; i < len(key); i++ {
		if key[i] == 0 {
			return key[2:i], key[i+1:], true
		}
	}
	return nil, nil, false
}

// number is the Seq, Pos or index that ends a key; no key has 0.
func number(field []byte) uint64 {
	if len(field) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(field)
}
