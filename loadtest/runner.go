package loadtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	lookEvery    = 50 * time.Millisecond // how often the runner looks at the loops
	loopPatience = 30 * time.Second      // a loop that does nothing for so long is broken
	byePatience  = 5 * time.Second
)

// Progress is how far a run has got.
type Progress struct {
	Phase  string
	Part   float64 // of the phase, 0 to 1; below 0: nobody knows
	Detail string
}

// runner starts loops, connects devices, waits and ends. Its methods are called by one goroutine, the scenario's.
type runner struct {
	// Set at construction.
	dialler *dialler
	engines []*engine
	watch   func(Progress)
	began   time.Time
	every   time.Duration // between two ticks
	ticks   sync.WaitGroup
	halt    chan struct{} // closed: no more ticks
	wanted  int
}

// rhythm is how often time is looked at.
type rhythm struct {
	tick time.Duration // between two ticks of a loop
	pass time.Duration // for the sweep over all devices
}

// newRunner starts the loops; prepare sets up each before it runs. watch, which may be nil, is told of progress.
func newRunner(t *Target, r rhythm, watch func(Progress), prepare func(l *loop)) (*runner, error) {
	dialler, err := newDialler(t)
	if err != nil {
		return nil, err
	}
	if watch == nil {
		watch = func(Progress) {}
	}
	run := &runner{dialler: dialler, watch: watch, began: time.Now(), every: r.tick, halt: make(chan struct{})}
	for range t.loops() {
		l := &loop{clock: run.clock, random: rand.Float64, instance: rand.Uint64(), pass: int64(r.pass)}
		prepare(l)
		e, err := startEngine(l)
		if err != nil {
			return nil, errors.Join(err, run.end())
		}
		run.engines = append(run.engines, e)
	}
	return run, nil
}

// clock is the time since the run began, in nanoseconds. Any goroutine.
func (r *runner) clock() int64 { return int64(time.Since(r.began)) }

func (r *runner) tick() {
	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, e := range r.engines {
				e.tick()
			}
		case <-r.halt:
			return
		}
	}
}

// each calls f on every loop, all at once, and waits. f must not share anything between loops.
func (r *runner) each(f func(i int, l *loop)) error {
	done := make(chan struct{}, len(r.engines))
	for i, e := range r.engines {
		err := e.post(func() {
			f(i, e.loop)
			done <- struct{}{}
		})
		if err != nil {
			return fmt.Errorf("post to event loop %d: %w", i, err)
		}
	}
	timeout := time.NewTimer(loopPatience)
	defer timeout.Stop()
	for range r.engines {
		select {
		case <-done:
		case <-timeout.C:
			return fmt.Errorf("an event loop did nothing for %v", loopPatience)
		}
	}
	return nil
}

// until looks at the loops now and then, until done says so.
func (r *runner) until(ctx context.Context, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if !pause(ctx, lookEvery) {
			return ctx.Err()
		}
	}
}

// hold waits for a time on the run's clock, or until nobody is left, and tells of progress meanwhile.
func (r *runner) hold(ctx context.Context, phase string, until int64, detail func(c *Connections) (string, error)) error {
	from := r.clock()
	for now := from; now < until; now = r.clock() {
		c, err := r.connections()
		if err != nil || c.live() == 0 {
			return err
		}
		text, err := detail(&c)
		if err != nil {
			return err
		}
		r.watch(Progress{Phase: phase, Part: float64(now-from) / float64(until-from), Detail: text})
		if !pause(ctx, min(4*lookEvery, time.Duration(until-now))) {
			return ctx.Err()
		}
	}
	return nil
}

// connect starts the ticks, dials for n devices and waits until each has a session or has none. Once.
func (r *runner) connect(ctx context.Context, n int, rate float64, at func(i int) (*device, *engine)) error {
	r.wanted = n
	r.ticks.Go(r.tick)
	ctx, cancel := context.WithCancel(ctx)
	dialled := make(chan struct{})
	go func() {
		r.dialler.dialAll(ctx, r.clock, n, rate, at)
		close(dialled)
	}()
	defer func() {
		cancel()
		<-dialled
	}()
	return r.until(ctx, func() (bool, error) {
		c, err := r.connections()
		if err != nil {
			return false, err
		}
		settled := c.Connected + c.Refused.total() + c.Unreached.total()
		r.watch(Progress{Phase: "connecting", Part: float64(settled) / float64(n),
			Detail: fmt.Sprintf("%d of %d", c.Connected, n)})
		return settled >= uint64(n), nil
	})
}

// counts is what all loops have counted.
func (r *runner) counts() (*counts, error) {
	parts := make([]counts, len(r.engines))
	err := r.each(func(i int, l *loop) { parts[i].merge(&l.counts) })
	var all counts
	for i := range parts {
		all.merge(&parts[i])
	}
	return &all, err
}

func (r *runner) connections() (Connections, error) {
	c, err := r.counts()
	return Connections{Wanted: r.wanted, Connected: c.connected, Unreached: r.dialler.failed(), Refused: c.refused,
		Lost: c.lost}, err
}

// leave says goodbye for all devices, and waits a while for the answers.
func (r *runner) leave(ctx context.Context) error {
	if err := r.each(func(_ int, l *loop) { l.leave() }); err != nil {
		return err
	}
	by := r.clock() + int64(byePatience)
	return r.until(ctx, func() (bool, error) {
		left := make([]int, len(r.engines))
		if err := r.each(func(i int, l *loop) { left[i] = l.leaving() }); err != nil {
			return false, err
		}
		sum := 0
		for _, n := range left {
			sum += n
		}
		return sum == 0 || r.clock() > by, nil
	})
}

// end stops the ticks and the loops, with every connection they have.
func (r *runner) end() error {
	close(r.halt)
	r.ticks.Wait()
	var faults []error
	for _, e := range r.engines {
		_ = e.post(func() { e.loop.ending = true }) // a loop that has ended says so below
		faults = append(faults, e.stop())
	}
	return errors.Join(faults...)
}
