package loadtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lifeline/protocol"
)

// Chat is the scenario of pairs that talk: in each, one user keeps sending to another, and everything that comes is
// verified. It measures from Send to Sendack and from Send to Push.
type Chat struct {
	Target
	Pairs    int
	Devices  int           // of each receiver, 1 or 2
	Window   int           // unanswered Sends of a pair
	Rate     float64       // messages a second of all pairs together, when due and not when answered; 0: no rate
	Size     int           // bytes of a payload
	Warmup   time.Duration // before what is measured
	Duration time.Duration // what is measured
	Finish   time.Duration // how long to wait, without progress, for what was sent
}

// chatDialRate is how fast the devices of a chat connect.
const chatDialRate = 2000

// Validate lists every fault at once.
func (o *Chat) Validate() error {
	faults := o.faults(o.Pairs * (1 + o.Devices))
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.Devices < 1 || o.Devices > maxReceivers {
		fault("devices is %d, must be 1 to %d", o.Devices, maxReceivers)
	}
	if o.Window < 1 || o.Window > maxWindow {
		fault("window is %d, must be 1 to %d", o.Window, maxWindow)
	}
	if o.Rate < 0 {
		fault("rate is %v, must not be negative", o.Rate)
	}
	if o.Size < headBytes || o.Size > protocol.PayloadCeiling {
		fault("size is %d, must be %d to %d", o.Size, headBytes, protocol.PayloadCeiling)
	}
	if o.Warmup < 0 || o.Duration <= 0 {
		fault("warmup is %v and duration %v, must not be negative or zero", o.Warmup, o.Duration)
	}
	if o.Finish <= 0 {
		fault("finish is %v, must be more than zero", o.Finish)
	}
	return errors.Join(faults...)
}

// Run runs the scenario; watch, which may be nil, is told of progress. When ctx ends the run ends early, with the report
// so far beside the error.
func (o *Chat) Run(ctx context.Context, watch func(Progress)) (*ChatReport, error) {
	run := &chat{Chat: o, users: fmt.Sprintf("load-%08x", rand.Uint32())}
	r, err := newRunner(&o.Target, run.rhythm(), watch, run.prepare)
	if err != nil {
		return nil, err
	}
	run.runner = r
	run.pair()
	report, err := run.run(ctx)
	return report, errors.Join(err, r.end())
}

// chat is one run of Chat.
type chat struct {
	*Chat
	*runner
	users   string // what the user ids begin with: new in each run, so that positions begin at 1
	traffic []*traffic
	devices []*device // of all pairs, one pair after another
	used    time.Duration
	span    time.Duration // what was measured
}

// rhythm is fine where messages are sent at a rate.
func (c *chat) rhythm() rhythm {
	if c.Rate > 0 {
		return rhythm{tick: time.Millisecond, pass: 20 * time.Millisecond}
	}
	return rhythm{tick: 10 * time.Millisecond, pass: 20 * time.Millisecond}
}

// prepare sets up a loop.
func (c *chat) prepare(l *loop) {
	t := &traffic{loop: l, window: c.Window, payload: newPayload(c.Size)}
	if c.Rate > 0 {
		t.gap = float64(c.Pairs) / c.Rate * second
	}
	c.traffic = append(c.traffic, t)
	l.names, l.activity, l.work = c.names, protocol.Foreground, t.work
}

// names are those of a pair's users, and the devices of each.
func (c *chat) names(d *device) (user, id string) {
	switch d.place {
	case senderPlace:
		return c.userOf(int(d.index), "from"), "phone"
	case senderPlace + 1:
		return c.userOf(int(d.index), "to"), "phone"
	default:
		return c.userOf(int(d.index), "to"), "tablet"
	}
}

func (c *chat) userOf(pair int, role string) string { return userID(c.users+"-"+role, pair) }

// pair makes the pairs, each with all its devices on one loop.
func (c *chat) pair() {
	mark := rand.Uint64()
	for i := range c.Pairs {
		t := c.traffic[i%len(c.traffic)]
		p := &pair{traffic: t, writer: mark + uint64(i), to: []byte(c.userOf(i, "to")), devices: 1 + c.Devices, out: newOutbox()}
		for place := range p.devices {
			d := &device{role: p, index: uint32(i), place: uint8(place)}
			c.devices = append(c.devices, d)
			if place == senderPlace {
				p.sender = d
			}
		}
		t.pairs = append(t.pairs, p)
	}
}

func (c *chat) run(ctx context.Context) (*ChatReport, error) {
	err := c.connect(ctx, len(c.devices), chatDialRate, func(i int) (*device, *engine) {
		d := c.devices[i]
		return d, c.engines[int(d.index)%len(c.engines)]
	})
	if err == nil {
		err = c.talk(ctx)
	}
	report, reportErr := c.report()
	return report, errors.Join(err, reportErr)
}

// talk lets the pairs talk, if all are there, and waits for the end of what they have begun.
func (c *chat) talk(ctx context.Context) error {
	if now, err := c.connections(); err != nil || now.fault() != nil {
		return err // the report tells of the fault
	}
	from := c.clock() + int64(c.Warmup)
	until := from + int64(c.Duration)
	if err := c.each(func(i int, _ *loop) { c.traffic[i].start(from, until) }); err != nil {
		return err
	}
	interrupted := c.measure(ctx, from, until)
	// What was begun is finished also after an interruption: otherwise what is on its way would be judged lost.
	ctx = context.WithoutCancel(ctx)
	if err := c.each(func(i int, _ *loop) { c.traffic[i].until = min(until, c.clock()) }); err != nil {
		return err
	}
	if err := c.finish(ctx); err != nil {
		return err
	}
	return errors.Join(interrupted, c.leave(ctx))
}

// measure waits while the pairs talk.
func (c *chat) measure(ctx context.Context, from, until int64) error {
	if err := c.hold(ctx, "warming up", from, c.told); err != nil {
		return err
	}
	used := cpuTime()
	err := c.hold(ctx, "measuring", until, c.told)
	c.used, c.span = cpuTime()-used, time.Duration(min(until, c.clock())-from)
	return err
}

// told is what the progress tells.
func (c *chat) told(*Connections) (string, error) {
	f, err := c.figures()
	return fmt.Sprintf("%d stored, %d pushed", f.stored, f.pushed), err
}

// finish waits until everything is answered and pushed, for as long as there is progress.
func (c *chat) finish(ctx context.Context) error {
	var before figures
	var moved int64
	return c.until(ctx, func() (bool, error) {
		rest, err := c.rest()
		if err != nil {
			return false, err
		}
		f, err := c.figures()
		if f.stored+f.pushed > before.stored+before.pushed || moved == 0 {
			before, moved = *f, c.clock()
		}
		c.watch(Progress{Phase: "finishing", Part: -1, Detail: fmt.Sprintf("%d unanswered, %d to be pushed", rest.unanswered, rest.unpushed)})
		return !rest.waiting || c.clock()-moved > int64(c.Finish), err
	})
}

// rest is what is not finished.
func (c *chat) rest() (rest, error) {
	parts := make([]rest, len(c.traffic))
	err := c.each(func(i int, _ *loop) { parts[i] = c.traffic[i].rest() })
	var all rest
	for _, part := range parts {
		all.add(part)
	}
	return all, err
}

// figures is what all loops have counted.
func (c *chat) figures() (*figures, error) {
	parts := make([]figures, len(c.traffic))
	err := c.each(func(i int, _ *loop) { parts[i].merge(&c.traffic[i].figures) })
	var all figures
	for i := range parts {
		all.merge(&parts[i])
	}
	return &all, err
}

func (c *chat) report() (*ChatReport, error) {
	r := &ChatReport{Scenario: "chat", Pairs: c.Pairs, Window: c.Window, Devices: c.Devices, Size: c.Size, Rate: c.Rate,
		WarmupS: c.Warmup.Seconds(), DurationS: c.span.Seconds(), Machine: thisMachine(len(c.engines))}
	figures, err := c.figures()
	r.fill(figures)
	if figures.storedInSpan > 0 {
		r.ClientCPU = float64(c.used.Nanoseconds()) / 1000 / float64(figures.storedInSpan)
	}
	rest, restErr := c.rest()
	r.Unanswered, r.Unproven, r.Failed = rest.unanswered, rest.unproven, rest.failed
	faults := make([]Faults, len(c.traffic))
	faultErr := c.each(func(i int, _ *loop) { faults[i] = c.traffic[i].faults() })
	for i := range faults {
		r.Faults.add(&faults[i])
	}
	counts, countErr := c.counts()
	r.Connect, r.Errors = counts.connect.latency(), counts.errors
	r.Connections, _ = c.connections() // its error would be the one above
	return r, errors.Join(err, restErr, faultErr, countErr)
}

// fill takes the figures of all loops; DurationS is set.
func (r *ChatReport) fill(f *figures) {
	r.Sent, r.Stored, r.Pushed = f.sent, f.stored, f.pushed
	if r.DurationS > 0 {
		r.SendsPerSecond = float64(f.storedInSpan) / r.DurationS
		r.PushesPerSecond = float64(f.pushedInSpan) / r.DurationS
	}
	r.Sendack, r.Push = f.sendack.latency(), f.push.latency()
	if r.Devices > 1 {
		later := f.pushLater.latency()
		r.PushLater = &later
	}
}
