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
	t := &Table{opts: o}
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

// late is the outcome by which a script refuses a command that its sender may have given up.
const late = 0

// write runs one script for each of n elements and returns their outcomes; where an error befell, late. Commands that
// were too late by an estimate of the server's clock that has become wrong are sent again.
func (t *Table) write(ctx context.Context, n int, place func(i int) int, build func(i int, now time.Time, sent int64) *call) ([]int64, error) {
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
		calls := make([]*call, len(left))
		for j, i := range left {
			calls[j] = build(i, now, t.clocks.estimate(place(i), now))
		}
		err := t.run(ctx, t.writer, calls)
		var again []int
		for j, i := range left {
			if calls[j].err != nil {
				continue
			}
			outcome, told, bad := outcomeOf(calls[j])
			switch {
			case bad != nil:
				err = errors.Join(err, bad)
			case outcome == late:
				again = append(again, i)
			}
			outcomes[i] = outcome
			t.clocks.read(place(i), told, t.opts.Now())
		}
		if err != nil || len(again) == 0 {
			return outcomes, err
		}
		left = again
	}
	return outcomes, errLate
}

// outcomeOf reads the reply of a script that writes: an outcome and the server's time.
func outcomeOf(c *call) (outcome, told int64, err error) {
	if len(c.reply) == 2 {
		o, ok := c.reply[0].(int64)
		t, too := c.reply[1].(int64)
		if ok && too {
			return o, t, nil
		}
	}
	return 0, 0, c.garbled()
}

func (c *call) garbled() error {
	return fmt.Errorf("%s: the reply %.200q makes no sense", c.script.name, fmt.Sprint(c.reply))
}

func (t *Table) patience() int64 { return t.opts.Timeout.Milliseconds() }

// Register implements [route.Table].
func (t *Table) Register(ctx context.Context, batch []route.Session) ([]route.Outcome, error) {
	self := &t.opts.Self
	got, err := t.write(ctx, len(batch), func(i int) int { return route.Bucket(batch[i].User) },
		func(i int, now time.Time, sent int64) *call {
			s := &batch[i]
			return &call{script: scriptRegister, key: routeKey(s.User), args: []any{s.Device, hex16(s.ConnID), self.Node,
				hex16(self.Incarnation), hex16(s.Instance), hex16(s.Attempt), hex16(s.Order), bit(s.Suspect), int(s.Platform),
				now.Sub(s.Started).Milliseconds(), now.Sub(s.Seen).Milliseconds(), self.TTL.Milliseconds(),
				sent, t.patience(), bit(self.ExclusivePlatform)}}
		})
	outcomes := make([]route.Outcome, len(batch))
	for i, o := range got {
		outcomes[i] = route.Outcome(o)
	}
	return outcomes, err
}

// Remove implements [route.Table].
func (t *Table) Remove(ctx context.Context, batch []route.Key) ([]bool, error) {
	got, err := t.write(ctx, len(batch), func(i int) int { return route.Bucket(batch[i].User) },
		func(i int, _ time.Time, _ int64) *call {
			k := &batch[i]
			return &call{script: scriptRemove, key: routeKey(k.User),
				args: []any{k.Device, hex16(k.ConnID), k.Node, hex16(k.Incarnation)}}
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
	got, err := t.write(ctx, len(batch), func(i int) int { return route.Bucket(batch[i].User) },
		func(i int, now time.Time, sent int64) *call {
			s := &batch[i]
			return &call{script: scriptRefresh, key: routeKey(s.User), args: []any{s.Device, hex16(s.ConnID), self.Node,
				hex16(self.Incarnation), bit(s.Suspect), now.Sub(s.Seen).Milliseconds(), self.TTL.Milliseconds(),
				sent, t.patience()}}
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
		calls[b] = &call{script: scriptGeneration, key: generationKey(b), args: []any{hex16(rand.Uint64() | 1)}}
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
		t.clocks.read(b, told, t.opts.Now())
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
