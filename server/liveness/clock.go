package liveness

import "time"

const (
	// TickInterval is how often a loop is to call [Clock.Tick].
	TickInterval = 100 * time.Millisecond

	maxStep   = 250 * time.Millisecond // what one tick adds at most; one that would add more is late
	grace     = 2 * time.Second        // no kills for this long after a late tick
	skipsMost = 1024                   // late ticks that are remembered
)

// Time is a moment of one loop's clock, in tenths of a second since the node started. It lasts 13 years.
type Time uint32

const unit = time.Second / 10

// Add returns the moment d later, rounded up, so that no deadline comes early. A negative d counts as zero.
func (t Time) Add(d time.Duration) Time {
	if d <= 0 {
		return t
	}
	return t + Time((d+unit-1)/unit)
}

// Sub returns the time from u to t, negative when t is before u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(int64(t)-int64(u)) * unit }

// Before says whether t is earlier than u.
func (t Time) Before(u Time) bool { return t < u }

// Clock is a loop's idea of time. It is capped: a node that was paused (a suspended machine, a stalled disk, a long
// collection) did not read its sockets meanwhile, so the silence it finds afterwards is its own and proves nothing
// about its clients. Each tick therefore adds little, and one that came too late for that forbids kills until the loop has
// caught up with what waits in the sockets: a deadline and the frame that keeps it may lie in the same standstill, and the
// tick may be read first. The zero value is ready; it is owned by one loop.
type Clock struct {
	elapsed time.Duration // capped
	wall    time.Duration // at the last tick
	until   time.Duration // of elapsed: grace ends
	ticked  bool
	skips   []skip // oldest first
}

// skip is what a late tick has left out.
type skip struct {
	at Time // the moment after it
	by time.Duration
}

// Tick moves the clock to wall, a monotonic reading (time since the node started), and returns the new time. A reading
// that steps back adds nothing.
func (c *Clock) Tick(wall time.Duration) Time {
	step := wall - c.wall
	if !c.ticked {
		step, c.ticked = 0, true
	}
	c.wall = wall
	c.elapsed += min(max(step, 0), maxStep)
	if step > maxStep {
		c.until = c.elapsed + grace
		c.remember(skip{c.Now(), step - maxStep})
	}
	return c.Now()
}

func (c *Clock) remember(s skip) {
	if len(c.skips) == skipsMost {
		c.skips = append(c.skips[:0], c.skips[skipsMost/2:]...)
	}
	c.skips = append(c.skips, s)
}

// Ago is how long ago a moment of this clock was for everybody else: what late ticks have left out since then counts, as
// far back as the last 512 of them.
func (c *Clock) Ago(t Time) time.Duration {
	ago := c.Now().Sub(t)
	for i := len(c.skips) - 1; i >= 0 && t.Before(c.skips[i].at); i-- {
		ago += c.skips[i].by
	}
	return ago
}

// Late says whether the last tick was late.
func (c *Clock) Late() bool { return c.until == c.elapsed+grace }

// Now is the time of the last tick.
func (c *Clock) Now() Time { return Time(c.elapsed / unit) }

// Grace says that a late tick was seen a moment ago: nobody is to be closed for silence.
func (c *Clock) Grace() bool { return c.elapsed < c.until }
