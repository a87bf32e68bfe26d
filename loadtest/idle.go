package loadtest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"lifeline/protocol"
)

// Idle is the scenario of devices that are only there: each logs in, answers what it is asked, pings when it must, and
// holds its connection.
type Idle struct {
	Target
	Connections int
	Rate        float64 // dials a second; 0: as fast as possible
	Hold        time.Duration
	Users       string // what the user ids begin with; the same in each run, so that runs do not fill a store
	Foreground  bool   // what the devices say of themselves
	Metrics     string // address of the server's metrics, for its CPU while it holds; empty: it is not asked
}

// Validate lists every fault at once.
func (o *Idle) Validate() error {
	faults := o.faults(o.Connections)
	if o.Rate < 0 {
		faults = append(faults, fmt.Errorf("rate is %v, must not be negative", o.Rate))
	}
	if o.Hold < 0 {
		faults = append(faults, fmt.Errorf("hold is %v, must not be negative", o.Hold))
	}
	if err := metricsFault(o.Metrics); err != nil {
		faults = append(faults, err)
	}
	if !protocol.ValidID([]byte(userID(o.Users, o.Connections))) {
		faults = append(faults, fmt.Errorf("users is %q, which makes no valid user ids", o.Users))
	}
	return errors.Join(faults...)
}

func userID(prefix string, n int) string { return fmt.Sprintf("%s-%07d", prefix, n) }

// Run runs the scenario; watch, which may be nil, is told of progress. When ctx ends the run ends early, with the report
// so far beside the error.
func (o *Idle) Run(ctx context.Context, watch func(Progress)) (*IdleReport, error) {
	r, err := newRunner(&o.Target, rhythm{tick: 100 * time.Millisecond, pass: time.Second}, watch, func(l *loop) {
		l.names = func(d *device) (string, string) { return userID(o.Users, int(d.index)), "phone" }
		l.activity = protocol.Background
		if o.Foreground {
			l.activity = protocol.Foreground
		}
	})
	if err != nil {
		return nil, err
	}
	report, err := o.run(ctx, r)
	return report, errors.Join(err, r.end())
}

func (o *Idle) run(ctx context.Context, r *runner) (*IdleReport, error) {
	report := &IdleReport{Scenario: "idle", Rate: o.Rate, HoldS: o.Hold.Seconds(), Machine: thisMachine(len(r.engines))}
	before, grown := settledMemory(), 0
	devices := make([]device, o.Connections)
	err := r.connect(ctx, o.Connections, o.Rate, func(i int) (*device, *engine) {
		devices[i].index = uint32(i)
		return &devices[i], r.engines[i%len(r.engines)]
	})
	if err == nil {
		grown = max(0, settledMemory()-before)
		report.Holding, err = o.hold(ctx, r)
	}
	counts, countErr := r.counts()
	report.Connect = counts.connect.latency()
	report.Pings, report.Pongs = counts.pings, counts.pongs
	report.Connections, _ = r.connections() // its error would be the one above
	if n := report.Connections.Connected; n > 0 {
		report.Bytes = grown / int(n)
	}
	return report, errors.Join(err, countErr)
}

// hold holds the connections and says what that cost.
func (o *Idle) hold(ctx context.Context, r *runner) (*Holding, error) {
	from, err := o.read(ctx, r)
	if err != nil {
		return nil, err
	}
	err = r.hold(ctx, "holding", r.clock()+int64(o.Hold), func(c *Connections) (string, error) {
		return fmt.Sprintf("%d connections", c.live()), nil
	})
	if err != nil {
		return nil, err
	}
	to, err := o.read(ctx, r)
	if err != nil {
		return nil, err
	}
	return holding(from, to), nil
}

// settledMemory gives garbage back to the system and returns what is left.
func settledMemory() int {
	debug.FreeOSMemory() // what is pooled survives one collection
	debug.FreeOSMemory()
	return resident()
}
