package commit

import (
	"encoding/binary"
	"time"

	"lifeline/store"
)

// A batch ends at the first of these. The command that reached it is whole in the batch, whatever its size.
const (
	maxBatchCommands = 256
	maxBatchKeys     = 4096
	maxBatchBytes    = 256 << 10
)

const slabSize = 64 // messages or recipients allocated together

// batch is what one commit is made of: operations for the engine, then events for the sink, then answers. Keys and
// values lie one behind the other in an arena that is used again; messages and recipients are given away. Owned by the
// committer.
type batch struct {
	now      int64 // Unix milliseconds, the time of everything in it
	arena    []byte
	ops      [store.Partitions][]store.Op
	commands int
	keys     int
	bytes    int
	events   []store.Event
	answers  []answer

	dedup   map[[16]byte]dedup       // rows written, for later commands of the batch
	hashes  [store.Partitions][]byte // of those rows
	changed map[string]struct{}      // groups whose members changed: who must read them waits for the next batch

	applied    [store.Partitions]uint64 // of the batches before
	sealed     []store.PartitionOps
	messages   []store.Message
	recipients []store.Recipient
}

type answer struct {
	to     store.Replier
	answer store.Answer
}

func newBatch() *batch {
	return &batch{dedup: map[[16]byte]dedup{}, changed: map[string]struct{}{}}
}

// reset empties the batch. What it gave away it lets go of.
func (b *batch) reset(now time.Time) {
	b.now = now.UnixMilli()
	b.arena, b.keys, b.bytes = b.arena[:0], 0, 0
	for _, p := range b.sealed {
		b.ops[p.Partition] = b.ops[p.Partition][:0]
		b.hashes[p.Partition] = b.hashes[p.Partition][:0]
	}
	b.sealed = b.sealed[:0]
	clear(b.events)
	b.events = b.events[:0]
	clear(b.answers)
	b.answers = b.answers[:0]
	clear(b.dedup)
	clear(b.changed)
}

func (b *batch) full(commands int) bool {
	return commands >= maxBatchCommands || b.keys >= maxBatchKeys || b.bytes >= maxBatchBytes
}

// set adds an operation whose key begins at k in the arena and whose value, the arena's last bytes, at v.
func (b *batch) set(p uint8, k, v int) {
	b.ops[p] = append(b.ops[p], store.Op{Key: b.arena[k:v:v], Value: b.arena[v:len(b.arena):len(b.arena)]})
	b.keys++
	b.bytes += len(b.arena) - k
}

// delete adds a deletion of the key that begins at k and ends the arena.
func (b *batch) delete(p uint8, k int) {
	b.ops[p] = append(b.ops[p], store.Op{Key: b.arena[k:len(b.arena):len(b.arena)], Delete: true})
	b.keys++
	b.bytes += len(b.arena) - k
}

// remember writes a dedup row.
func (b *batch) remember(p uint8, hash [16]byte, d dedup) {
	k := len(b.arena)
	b.arena = appendDedupKey(b.arena, p, &hash)
	v := len(b.arena)
	b.arena = d.append(b.arena)
	b.set(p, k, v)
	b.dedup[hash] = d
	b.hashes[p] = append(b.hashes[p], hash[:]...)
}

// seal ends the batch: per partition the dedup rows' expiry and the applied index.
func (b *batch) seal() []store.PartitionOps {
	for p := range b.ops {
		if len(b.ops[p]) == 0 {
			continue
		}
		index := b.applied[p] + 1
		if hashes := b.hashes[p]; len(hashes) > 0 {
			k := len(b.arena)
			b.arena = appendExpiryKey(b.arena, uint8(p), expiryDay(b.now), index)
			v := len(b.arena)
			b.arena = append(append(b.arena, valueVersion), hashes...)
			b.set(uint8(p), k, v)
		}
		k := len(b.arena)
		b.arena = appendAppliedKey(b.arena, uint8(p))
		v := len(b.arena)
		b.arena = binary.AppendUvarint(append(b.arena, valueVersion), index)
		b.set(uint8(p), k, v)
		b.sealed = append(b.sealed, store.PartitionOps{Partition: uint16(p), Index: index, Ops: b.ops[p]})
	}
	return b.sealed
}

// committed is called when the sealed batch is durable.
func (b *batch) committed() {
	for _, p := range b.sealed {
		b.applied[p.Partition] = p.Index
	}
}

// message returns a new message of the slab.
func (b *batch) message() *store.Message {
	if len(b.messages) == 0 {
		b.messages = make([]store.Message, slabSize)
	}
	m := &b.messages[0]
	b.messages = b.messages[1:]
	return m
}

// room returns an empty slice of the slab with room for n recipients.
func (b *batch) room(n int) []store.Recipient {
	if len(b.recipients) < n {
		b.recipients = make([]store.Recipient, max(n, slabSize))
	}
	r := b.recipients[:0:n]
	b.recipients = b.recipients[n:]
	return r
}
