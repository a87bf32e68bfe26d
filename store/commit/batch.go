package commit

import (
	"encoding/binary"
	"time"

	"lifeline/store"
)

// A batch takes no more commands after the first of these. The command that reached it is whole in the batch, whatever
// its size, and what the store owes comes on top.
const (
	maxBatchCommands = 256
	maxBatchKeys     = 4096
	maxBatchBytes    = 256 << 10
)

const slabSize = 64 // messages or recipients allocated together

// batch is what one commit is made of: operations for the engine, then events for the sink, then answers. Keys and
// values lie one behind the other in an arena that is used again; messages and recipients are given away. Owned by the
// committer; while it is being committed it does not change.
type batch struct {
	number   uint64
	now      int64 // Unix milliseconds, the time of everything in it
	commands int
	size     int // of the commands, as the queue counts them
	keys     int
	bytes    int
	arena    []byte
	ops      [store.Partitions][]store.Op
	sealed   []store.PartitionOps
	events   []store.Event
	answers  []answer
	forgets  []device
	took     time.Duration // in the engine

	// For the commands behind it that are resolved before it is in.
	dedup   map[dedupKey]dedup  // rows written
	changed map[string]struct{} // groups whose members changed

	messages   []store.Message   // slab
	recipients []store.Recipient // slab
}

type answer struct {
	to     store.Replier
	answer store.Answer
}

func newBatch() *batch {
	return &batch{dedup: map[dedupKey]dedup{}, changed: map[string]struct{}{}}
}

// reset empties the batch. What it gave away it lets go of.
func (b *batch) reset() {
	b.now, b.commands, b.size, b.keys, b.bytes = 0, 0, 0, 0, 0
	b.arena = b.arena[:0]
	for _, p := range b.sealed {
		b.ops[p.Partition] = b.ops[p.Partition][:0]
	}
	b.sealed = b.sealed[:0]
	clear(b.events)
	b.events = b.events[:0]
	clear(b.answers)
	b.answers = b.answers[:0]
	b.forgets = b.forgets[:0]
	clear(b.dedup)
	clear(b.changed)
}

func (b *batch) full() bool {
	return b.commands >= maxBatchCommands || b.keys >= maxBatchKeys || b.bytes >= maxBatchBytes
}

// empty reports that there is nothing to commit and nobody to answer.
func (b *batch) empty() bool { return b.keys == 0 && len(b.answers) == 0 }

// set adds an operation whose key begins at k in the arena and whose value, the arena's last bytes, at v.
func (b *batch) set(p uint8, k, v int) {
	b.ops[p] = append(b.ops[p], b.op(k, v))
	b.keys++
}

// reserve keeps a place for an operation that fill completes.
func (b *batch) reserve(p uint8) (place int) {
	b.ops[p] = append(b.ops[p], store.Op{})
	b.keys++
	return len(b.ops[p]) - 1
}

// fill is set for a reserved place.
func (b *batch) fill(p uint8, place, k, v int) { b.ops[p][place] = b.op(k, v) }

// delete adds a deletion of the key that begins at k and ends the arena.
func (b *batch) delete(p uint8, k int) {
	op := b.op(k, len(b.arena))
	op.Value, op.Delete = nil, true
	b.ops[p] = append(b.ops[p], op)
	b.keys++
}

// op cuts an operation out of the arena. When the arena moves, what was cut out stays where it was.
func (b *batch) op(k, v int) store.Op {
	end := len(b.arena)
	b.bytes += end - k
	return store.Op{Key: b.arena[k:v:v], Value: b.arena[v:end:end]}
}

// seal ends the batch with the applied index of each partition.
func (b *batch) seal(applied *[store.Partitions]uint64) {
	for p := range b.ops {
		if len(b.ops[p]) == 0 {
			continue
		}
		applied[p]++
		k := len(b.arena)
		b.arena = appendAppliedKey(b.arena, uint8(p))
		v := len(b.arena)
		b.arena = binary.AppendUvarint(append(b.arena, valueVersion), applied[p])
		b.set(uint8(p), k, v)
		b.sealed = append(b.sealed, store.PartitionOps{Partition: uint16(p), Index: applied[p], Ops: b.ops[p]})
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
