package redisroute

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lifeline/server/route"
)

// Table is the online table in Redis as one node sees it. See [route.Table].
type Table struct {
	// Set at construction.
	opts   Options
	writer redis.UniversalClient // one batch at a time, and what the lease depends on
	reader redis.UniversalClient // look-ups and notices

	alone  bool // all buckets are on one server
	clocks clocks
	made   atomic.Uint64 // connections of the writer
	closed sync.Once

	// Guarded by mu.
	mu     sync.Mutex
	leased []string // nodes that had not said goodbye when the list was last read
}

var _ route.Table = (*Table)(nil)

// New returns a table. It does not connect.
func New(o Options) (*Table, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	t := &Table{opts: o, alone: o.Master != "" || !o.Cluster && len(o.Addrs) == 1}
	t.writer = o.client(writerPool, &t.made)
	t.reader = o.client(readerPool, new(atomic.Uint64))
	return t, nil
}

// Connections implements [route.Table].
func (t *Table) Connections() uint64 { return t.made.Load() }

// Close implements [route.Table].
func (t *Table) Close() (err error) {
	t.closed.Do(func() { err = errors.Join(t.writer.Close(), t.reader.Close()) })
	return err
}

var errBatch = fmt.Errorf("a batch has more than %d elements", route.MaxBatch)

// errLate says that commands arrived after their time, twice.
var errLate = errors.New("the command was too late for the server's clock")

// maxKeys bounds the keys of one script, and so the time for which a server does nothing else.
const maxKeys = 32

// place is where a bucket's records are: what is in one place may be written by one script, and has one clock.
func (t *Table) place(bucket int) int {
	if t.alone {
		return 0
	}
	return bucket
}

// write runs a script for n elements, one call for some of each place, and returns their outcomes; 0 where an error befell.
// Elements that were too late by an estimate of the server's clock that has become wrong are sent again.
func (t *Table) write(ctx context.Context, n int, place func(i int) int, build func(part []int, now time.Time, sent int64) *call) ([]int64, error) {
	outcomes := make([]int64, n)
	if n > route.MaxBatch {
		return outcomes, errBatch
	}
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	for range 2 {
		now := t.opts.Now()
		parts := partsOf(left, place)
		calls := make([]*call, len(parts))
		for j, part := range parts {
			calls[j] = build(part, now, t.clocks.estimate(place(part[0]), now))
		}
		err := t.run(ctx, t.writer, calls)
		left = nil
		for j, part := range parts {
			if calls[j].err != nil {
				continue
			}
			told, got, bad := calls[j].outcomes(len(part))
			if bad != nil {
				err = errors.Join(err, bad)
				continue
			}
			t.clocks.read(place(part[0]), told, t.opts.Now())
			if len(got) == 0 {
				left = append(left, part...)
			}
			for k, outcome := range got {
				outcomes[part[k]] = outcome
			}
		}
		if err != nil || len(left) == 0 {
			return outcomes, err
		}
	}
	return outcomes, errLate
}

// partsOf puts elements together that one call may write, in their order.
func partsOf(elements []int, place func(i int) int) (parts [][]int) {
	var at [leasePlace + 1]int // the part of a place that has room, + 1
	for _, i := range elements {
		p := place(i)
		if at[p] == 0 || len(parts[at[p]-1]) == maxKeys {
			parts = append(parts, nil)
			at[p] = len(parts)
		}
		parts[at[p]-1] = append(parts[at[p]-1], i)
	}
	return parts
}

// outcomes reads the reply of a script that writes: the server's time and n outcomes, or none when it was late.
func (c *call) outcomes(n int) (told int64, outcomes []int64, err error) {
	var numbers []int64
	for _, v := range c.reply {
		number, ok := v.(int64)
		if !ok {
			return 0, nil, c.garbled()
		}
		numbers = append(numbers, number)
	}
	if len(numbers) != 1 && len(numbers) != 1+n {
		return 0, nil, c.garbled()
	}
	return numbers[0], numbers[1:], nil
}

func (c *call) garbled() error {
	return fmt.Errorf("%s: the reply %.200q makes no sense", c.script.name, fmt.Sprint(c.reply))
}

func (t *Table) patience() int64 { return t.opts.Timeout.Milliseconds() }

// Register implements [route.Table].
func (t *Table) Register(ctx context.Context, batch []route.Session) ([]route.Outcome, error) {
	self := &t.opts.Self
	got, err := t.write(ctx, len(batch), func(i int) int { return t.place(route.Bucket(batch[i].User)) },
		func(part []int, now time.Time, sent int64) *call {
			c := &call{script: scriptRegister, args: []any{sent, t.patience(), self.TTL.Milliseconds(), bit(self.ExclusivePlatform)}}
			for _, i := range part {
				s := &batch[i]
				c.keys = append(c.keys, routeKey(s.User))
				c.args = append(c.args, s.Device, recordHead(self, s), now.Sub(s.Started).Milliseconds(), now.Sub(s.Seen).Milliseconds())
			}
			return c
		})
	outcomes := make([]route.Outcome, len(batch))
	for i, o := range got {
		outcomes[i] = route.Outcome(o)
	}
	return outcomes, err
}

// Remove implements [route.Table].
func (t *Table) Remove(ctx context.Context, batch []route.Key) ([]bool, error) {
	got, err := t.write(ctx, len(batch), func(i int) int { return t.place(route.Bucket(batch[i].User)) },
		func(part []int, _ time.Time, _ int64) *call {
			c := &call{script: scriptRemove}
			for _, i := range part {
				c.keys = append(c.keys, routeKey(batch[i].User))
				c.args = append(c.args, batch[i].Device, recordName(&batch[i]))
			}
			return c
		})
	removed := make([]bool, len(batch))
	for i, o := range got {
		removed[i] = o == 1
	}
	return removed, err
}

// Refresh implements [route.Table].
func (t *Table) Refresh(ctx context.Context, batch []route.Session) ([]route.Freshness, error) {
	self := &t.opts.Self
	got, err := t.write(ctx, len(batch), func(i int) int { return t.place(route.Bucket(batch[i].User)) },
		func(part []int, now time.Time, sent int64) *call {
			c := &call{script: scriptRefresh, args: []any{sent, t.patience(), self.TTL.Milliseconds()}}
			for _, i := range part {
				s := &batch[i]
				key := self.Key(s.User, s.Device, s.ConnID)
				c.keys = append(c.keys, routeKey(s.User))
				c.args = append(c.args, s.Device, recordName(&key), bit(s.Suspect), now.Sub(s.Seen).Milliseconds())
			}
			return c
		})
	found := make([]route.Freshness, len(batch))
	for i, o := range got {
		found[i] = route.Freshness(o)
	}
	return found, err
}

// Generations implements [route.Table].
func (t *Table) Generations(ctx context.Context) (route.Generations, error) {
	var g route.Generations
	calls := make([]*call, route.Buckets)
	for b := range calls {
		calls[b] = &call{script: scriptGeneration, keys: []string{generationKey(b)}, args: []any{hex16(rand.Uint64() | 1)}}
	}
	if err := t.run(ctx, t.writer, calls); err != nil {
		return g, err
	}
	for b, c := range calls {
		told, n, err := readGeneration(c)
		if err != nil {
			return g, err
		}
		g[b] = n
		t.clocks.read(t.place(b), told, t.opts.Now())
	}
	return g, nil
}

// readGeneration reads the reply of generation.lua: the server's time, and the generation, 0 = there is none.
func readGeneration(c *call) (told int64, generation uint64, err error) {
	if len(c.reply) != 2 {
		return 0, 0, c.garbled()
	}
	told, ok := c.reply[0].(int64)
	text, too := c.reply[1].(string)
	if !ok || !too {
		return 0, 0, c.garbled()
	}
	if text == "" {
		return told, 0, nil
	}
	if generation, err = parseHex16(text); err != nil {
		return 0, 0, c.garbled()
	}
	return told, generation, nil
}
