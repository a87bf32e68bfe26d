package liveness

import (
	"math/rand/v2"
	"testing"
	"time"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

func TestTime(t *testing.T) {
	for _, tt := range []struct {
		from Time
		add  time.Duration
		want Time
	}{
		{0, 0, 0},
		{10, -sec, 10},
		{10, sec, 20},
		{10, 1, 11},
		{10, 100 * ms, 11},
		{10, 101 * ms, 12},
		{0, 900 * sec, 9000},
	} {
		if got := tt.from.Add(tt.add); got != tt.want {
			t.Errorf("%d.Add(%v) = %d, want %d", tt.from, tt.add, got, tt.want)
		}
	}
	for _, tt := range []struct {
		a, b   Time
		sub    time.Duration
		before bool
	}{
		{20, 10, sec, false},
		{10, 20, -sec, true},
		{10, 10, 0, false},
		{0, 1 << 31, -(1 << 31) * 100 * ms, true},
	} {
		if got := tt.a.Sub(tt.b); got != tt.sub {
			t.Errorf("%d.Sub(%d) = %v, want %v", tt.a, tt.b, got, tt.sub)
		}
		if got := tt.a.Before(tt.b); got != tt.before {
			t.Errorf("%d.Before(%d) = %v", tt.a, tt.b, got)
		}
	}
}

func TestClockFollowsRegularTicks(t *testing.T) {
	var c Clock
	start := 5 * sec // the node was up before the loop was
	for i := range 601 {
		if got, want := c.Tick(start+time.Duration(i)*TickInterval), Time(i); got != want {
			t.Fatalf("tick %d: %d, want %d", i, got, want)
		}
		if c.Grace() {
			t.Fatalf("tick %d: grace without a late tick", i)
		}
	}
}

func TestClockIsCapped(t *testing.T) {
	for _, tt := range []struct {
		gap   time.Duration
		adds  time.Duration
		grace bool
	}{
		{-time.Hour, 0, false},
		{-sec, 0, false},
		{0, 0, false},
		{100 * ms, 100 * ms, false},
		{250 * ms, 250 * ms, false},
		{251 * ms, 250 * ms, true},
		{600 * ms, 250 * ms, true},
		{20 * sec, 250 * ms, true},
		{time.Hour, 250 * ms, true},
		{24 * time.Hour, 250 * ms, true},
	} {
		var c Clock
		c.Tick(sec)
		c.Tick(sec + tt.gap)
		if c.elapsed != tt.adds {
			t.Errorf("gap %v added %v, want %v", tt.gap, c.elapsed, tt.adds)
		}
		if c.Grace() != tt.grace || c.Late() != tt.grace {
			t.Errorf("gap %v: grace %v, late %v, want %v", tt.gap, c.Grace(), c.Late(), tt.grace)
		}
		if c.Tick(sec + tt.gap + TickInterval); c.Late() {
			t.Errorf("gap %v: the tick after it is late, too", tt.gap)
		}
	}
}

func TestGraceLastsTwoSecondsFromTheLastLateTick(t *testing.T) {
	var c Clock
	wall := time.Duration(0)
	run := func(d time.Duration) {
		for range d / TickInterval {
			wall += TickInterval
			c.Tick(wall)
		}
	}
	late := func() {
		wall += 20 * sec
		c.Tick(wall)
	}
	c.Tick(wall)
	run(sec)
	late()
	run(1900 * ms)
	if !c.Grace() {
		t.Error("grace ended before 2 s")
	}
	run(100 * ms)
	if c.Grace() {
		t.Error("grace outlasted 2 s")
	}
	late()
	run(sec)
	late()
	run(1900 * ms)
	if !c.Grace() {
		t.Error("the second late tick did not start grace anew")
	}
}

// A node that was stopped for an hour must not find its clients an hour late.
func TestPauseIsNotSilence(t *testing.T) {
	var c Clock
	heard := c.Tick(0)
	now := c.Tick(time.Hour)
	if silence := now.Sub(heard); silence > maxStep {
		t.Errorf("silence of %v after a pause", silence)
	}
}

func TestClockNeverRunsFasterThanTheWall(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var c Clock
	var wall, last time.Duration
	c.Tick(0)
	for range 100_000 {
		wall += time.Duration(r.Int64N(int64(2 * sec)))
		before := c.Now()
		now := c.Tick(wall)
		if now.Before(before) {
			t.Fatalf("stepped back from %d to %d", before, now)
		}
		if now.Sub(0) > wall {
			t.Fatalf("%v at wall %v", now.Sub(0), wall)
		}
		if c.elapsed-last > maxStep {
			t.Fatalf("one tick added %v", c.elapsed-last)
		}
		last = c.elapsed
	}
}

func TestTickDoesNotAllocate(t *testing.T) {
	var c Clock
	var wall time.Duration
	if n := testing.AllocsPerRun(100, func() { wall += TickInterval; c.Tick(wall) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAgoCountsStandstills: what the clock leaves out has passed for everybody else.
func TestAgoCountsStandstills(t *testing.T) {
	var c Clock
	var wall time.Duration
	type word struct {
		at   Time
		wall time.Duration
	}
	var words []word
	step := func(by time.Duration) {
		wall += by
		words = append(words, word{c.Tick(wall), wall})
	}
	step(0)
	for i := range 400 {
		step(TickInterval)
		if i%100 == 50 {
			step(10 * time.Minute)
			step(300 * ms)
		}
	}
	for i, w := range words {
		if off := (c.Ago(w.at) - (wall - w.wall)).Abs(); off > TickInterval {
			t.Fatalf("word %d of %d was %v ago, and the clock says %v", i, len(words), wall-w.wall, c.Ago(w.at))
		}
	}
	for range 4 * skipsMost {
		step(sec)
	}
	if len(c.skips) > skipsMost {
		t.Errorf("%d late ticks are remembered", len(c.skips))
	}
	for _, w := range words[len(words)-skipsMost/2:] {
		if off := (c.Ago(w.at) - (wall - w.wall)).Abs(); off > TickInterval {
			t.Fatalf("a word was %v ago, and the clock says %v", wall-w.wall, c.Ago(w.at))
		}
	}
}
