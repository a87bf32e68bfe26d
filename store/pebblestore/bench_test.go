package pebblestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"lifeline/store"
)

// recording is an engine that keeps a copy of every batch, in one piece so that the garbage collector has no work with it.
type recording struct {
	store.Engine
	bytes []byte
	ends  []int // of the batches
	busy  time.Duration
}

func (r *recording) Commit(ctx context.Context, batch []store.PartitionOps) error {
	for _, p := range batch {
		for _, op := range p.Ops {
			r.bytes = binary.AppendUvarint(r.bytes, uint64(len(op.Key)))
			r.bytes = append(r.bytes, op.Key...)
			r.bytes = binary.AppendUvarint(r.bytes, uint64(len(op.Value)))
			r.bytes = append(r.bytes, op.Value...)
		}
	}
	r.ends = append(r.ends, len(r.bytes))
	began := time.Now()
	defer func() { r.busy += time.Since(began) }()
	return r.Engine.Commit(ctx, batch)
}

// batches takes the recorded bytes apart.
func (r *recording) batches() [][]store.Op {
	batches := make([][]store.Op, len(r.ends))
	at := 0
	field := func() []byte {
		n, size := binary.Uvarint(r.bytes[at:])
		from := at + size
		at = from + int(n)
		return r.bytes[from:at:at]
	}
	for i, end := range r.ends {
		for at < end {
			batches[i] = append(batches[i], store.Op{Key: field(), Value: field()})
		}
	}
	return batches
}

// diskOptions opens a store as lifelined does.
func diskOptions(b *testing.B) Options {
	o := Options{Dir: b.TempDir() + "/store", FloorBytes: 1 << 20, FloorPercent: -1, BallastBytes: -1}
	o.Commit.Fatal = func(err error) { b.Error(err) }
	return o
}

// caller sends one message after another, each when the one before is answered.
type caller struct {
	answers chan store.Answer
	user    string
	peers   []string
	random  *rand.Rand
	client  uint64
}

func newCaller(i int) *caller {
	c := &caller{answers: make(chan store.Answer, 1), user: fmt.Sprintf("user-%06d", i), random: rand.New(rand.NewPCG(1, uint64(i)))}
	for range 8 {
		c.peers = append(c.peers, fmt.Sprintf("user-%06d", c.random.IntN(100_000)))
	}
	return c
}

func (c *caller) Reply(a store.Answer) { c.answers <- a }

func (c *caller) send(s store.Store, payload []byte) store.Answer {
	c.client++
	id := make([]byte, 16)
	binary.BigEndian.PutUint64(id, c.random.Uint64())
	binary.BigEndian.PutUint64(id[8:], c.random.Uint64())
	r := s.Submit(&store.Send{
		Reply: c, Sender: c.user, SenderDevice: "phone-1", ToUser: c.peers[c.random.IntN(len(c.peers))], ClientID: id, Payload: payload,
	})
	if r != store.None {
		return store.Answer{Refusal: r}
	}
	return <-c.answers
}

// BenchmarkSend measures durable sends with 256 callers, then a bare Pebble with the same batches: keys, values, sizes.
// With one operation per message, run it as -benchtime 300000x.
func BenchmarkSend(b *testing.B) {
	var batches [][]store.Op
	var ours float64
	b.Run("store", func(b *testing.B) {
		o := diskOptions(b)
		var recorded *recording
		o.wrap = func(e store.Engine) store.Engine {
			recorded = &recording{Engine: e, bytes: make([]byte, 0, b.N*800)}
			return recorded
		}
		s, err := Open(o)
		if err != nil {
			b.Fatal(err)
		}
		ours = benchmarkCallers(b, s, 256)
		batches = recorded.batches()
		var keys, bytes int
		for _, batch := range batches {
			keys += len(batch)
			for _, op := range batch {
				bytes += len(op.Key) + len(op.Value)
			}
		}
		m := s.db.Metrics()
		total := m.Total()
		tables := total.TableBytesFlushed + total.TableBytesCompacted
		n := float64(b.N)
		b.ReportMetric(100*recorded.busy.Seconds()/b.Elapsed().Seconds(), "%committing")
		b.ReportMetric(float64(keys)/n, "keys/msg")
		b.ReportMetric(float64(bytes)/n, "keys+values-B/msg")
		b.ReportMetric(float64(m.WAL.BytesWritten)/n, "log-B/msg")
		b.ReportMetric(float64(tables)/n, "tables-B/msg")
		b.ReportMetric(n/float64(len(batches)), "msgs/batch")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("bare", func(b *testing.B) {
		bare := benchmarkBare(b, messages(b, batches), 256)
		b.ReportMetric(100*ours/bare, "%store-of-bare")
	})
	b.Run("bare-alone", func(b *testing.B) {
		benchmarkAlone(b, batches)
	})
}

// messages divides the recorded operations among the messages: as many keys and bytes, on average, as each had.
func messages(b *testing.B, batches [][]store.Op) [][]store.Op {
	if len(batches) == 0 {
		b.Fatal("the batches to repeat come from BenchmarkSend/store")
	}
	all := slices.Concat(batches...)
	divided := make([][]store.Op, b.N)
	for i := range divided {
		divided[i] = all[i*len(all)/b.N : (i+1)*len(all)/b.N]
	}
	return divided
}

// benchmarkCallers returns messages per second.
func benchmarkCallers(b *testing.B, s store.Store, callers int) float64 {
	payload := make([]byte, 128)
	for i := range payload {
		payload[i] = byte(rand.Uint32())
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ReportAllocs()
	spent := cpuTime(b)
	b.ResetTimer()
	for i := range callers {
		c := newCaller(i)
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if a := c.send(s, payload); a.Refusal != store.None {
					b.Error(a.Refusal)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "msgs/s")
	b.ReportMetric(float64((cpuTime(b)-spent).Microseconds())/float64(b.N), "cpu-µs/msg")
	return rate
}

// bareCaller waits for its message to be durable.
type bareCaller struct {
	ops  []store.Op
	done chan struct{}
}

// benchmarkBare returns messages per second of the least that could be done: callers hand operations to one goroutine,
// which puts what waits into a Pebble batch, commits it and tells them.
func benchmarkBare(b *testing.B, messages [][]store.Op, callers int) float64 {
	db := openBare(b)
	queue := make(chan *bareCaller, callers)
	var left atomic.Int64
	left.Store(int64(b.N))
	var all, committer sync.WaitGroup
	spent := cpuTime(b)
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			c := &bareCaller{done: make(chan struct{}, 1)}
			for i := left.Add(-1); i >= 0; i = left.Add(-1) {
				c.ops = messages[int64(b.N)-1-i]
				queue <- c
				<-c.done
			}
		})
	}
	committer.Go(func() { commitBare(b, db, queue) })
	all.Wait()
	b.StopTimer()
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "msgs/s")
	b.ReportMetric(float64((cpuTime(b)-spent).Microseconds())/float64(b.N), "cpu-µs/msg")
	close(queue)
	committer.Wait()
	return rate
}

func commitBare(b *testing.B, db *pebble.DB, queue <-chan *bareCaller) {
	var waiting []*bareCaller
	for first := range queue {
		waiting = append(waiting[:0], first)
		for len(queue) > 0 && len(waiting) < 256 {
			waiting = append(waiting, <-queue)
		}
		batch := db.NewBatch()
		for _, c := range waiting {
			for _, op := range c.ops {
				batch.Set(op.Key, op.Value, nil)
			}
		}
		if err := batch.Commit(pebble.Sync); err != nil {
			b.Error(err)
		}
		batch.Close()
		for _, c := range waiting {
			c.done <- struct{}{}
		}
	}
}

// benchmarkAlone repeats the batches as they were, one behind the other, with nobody to tell.
func benchmarkAlone(b *testing.B, batches [][]store.Op) {
	db := openBare(b)
	spent := cpuTime(b)
	b.ResetTimer()
	for _, recorded := range batches {
		batch := db.NewBatch()
		for _, op := range recorded {
			batch.Set(op.Key, op.Value, nil)
		}
		if err := batch.Commit(pebble.Sync); err != nil {
			b.Fatal(err)
		}
		batch.Close()
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
	b.ReportMetric(float64((cpuTime(b)-spent).Microseconds())/float64(b.N), "cpu-µs/msg")
}

// openBare opens a Pebble with the store's options.
func openBare(b *testing.B) *pebble.DB {
	o := diskOptions(b).withDefaults()
	cache := pebble.NewCache(o.CacheBytes)
	defer cache.Unref()
	db, err := pebble.Open(o.Dir, o.pebbleOptions(cache, &logger{log: o.Log, limit: newLimiter()}, nil))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

// cpuTime is what the process has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
