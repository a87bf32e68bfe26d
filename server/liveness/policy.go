package liveness

import (
	"fmt"
	"time"
)

// Range is a heartbeat interval with the bounds it may move in. All are whole seconds.
type Range struct {
	Min      time.Duration `yaml:"min"`
	Interval time.Duration `yaml:"interval"`
	Max      time.Duration `yaml:"max"`
}

// Pace is the heartbeat interval where none is longer. It is less only on a network that is known to bear less. Both are
// whole seconds.
type Pace struct {
	Min      time.Duration `yaml:"min"`
	Interval time.Duration `yaml:"interval"`
}

// Hold is how long a Suspect session is kept, in whole seconds. In background it is never less than the heartbeat
// interval: a phone whose next ping comes on time is not closed before it.
type Hold struct {
	Foreground time.Duration `yaml:"foreground"`
	Background time.Duration `yaml:"background"`
}

// For returns the hold of a session with a heartbeat interval.
func (h Hold) For(background bool, interval time.Duration) time.Duration {
	if background {
		return max(h.Background, interval)
	}
	return h.Foreground
}

// Policy says how often a client is to ping, how long a network may be tried with silence, and how long a silent session
// is kept.
type Policy struct {
	Foreground   Pace          `yaml:"foreground"`
	Background   Range         `yaml:"background"`     // interval: on a network of which nothing is known
	SlowMax      time.Duration `yaml:"slow_max"`       // background.max on 2G and 3G
	Desktop      time.Duration `yaml:"desktop"`        // desktop and wired clients, in every activity
	EchoesPerDay int           `yaml:"echoes_per_day"` // trials granted to a session, even, 0 = none
	Hold         Hold          `yaml:"hold"`
}

// DefaultPolicy suits phones on public networks.
func DefaultPolicy() Policy {
	return Policy{
		Foreground:   Pace{Min: 30 * time.Second, Interval: 60 * time.Second},
		Background:   Range{Min: 90 * time.Second, Interval: 240 * time.Second, Max: 900 * time.Second},
		SlowMax:      600 * time.Second,
		Desktop:      60 * time.Second,
		EchoesPerDay: 24,
		Hold:         Hold{Foreground: 30 * time.Second, Background: 600 * time.Second},
	}
}

// Bounds of everything a policy may hold. Below a second the pings outweigh the messages, above an hour a silent death
// is seen too late to matter.
const (
	shortest   = time.Second
	longest    = time.Hour
	mostEchoes = 30 // a day: half of it is what the four bits of a [Line] can count
)

// Validate returns every fault of the policy, each naming its field.
func (p Policy) Validate() []error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	check := func(name string, d time.Duration) {
		if d < shortest || d > longest || d%time.Second != 0 {
			fault("%s is %v, must be whole seconds from %v to %v", name, d, shortest, longest)
		}
	}
	f, b := p.Foreground, p.Background
	check("foreground.min", f.Min)
	check("foreground.interval", f.Interval)
	if f.Min > f.Interval {
		fault("foreground.interval is %v, must not be less than min %v", f.Interval, f.Min)
	}
	check("background.min", b.Min)
	check("background.interval", b.Interval)
	check("background.max", b.Max)
	if b.Min > b.Interval || b.Interval > b.Max {
		fault("background.interval is %v, must lie between min %v and max %v", b.Interval, b.Min, b.Max)
	}
	check("slow_max", p.SlowMax)
	if p.SlowMax < p.Background.Min {
		fault("slow_max is %v, must not be less than background.min %v", p.SlowMax, p.Background.Min)
	}
	check("desktop", p.Desktop)
	if p.EchoesPerDay < 0 || p.EchoesPerDay > mostEchoes || p.EchoesPerDay%2 != 0 {
		fault("echoes_per_day is %d, must be even, 0 to %d", p.EchoesPerDay, mostEchoes)
	}
	check("hold.foreground", p.Hold.Foreground)
	check("hold.background", p.Hold.Background)
	if p.Hold.Foreground > p.Hold.Background {
		fault("hold.foreground is %v, must not be more than hold.background %v", p.Hold.Foreground, p.Hold.Background)
	}
	return faults
}
