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

// Policy says how often a client is to ping.
type Policy struct {
	Foreground Range         `yaml:"foreground"`
	Background Range         `yaml:"background"`
	Desktop    time.Duration `yaml:"desktop"` // desktop and wired clients, in every activity
}

// DefaultPolicy suits phones on public networks.
func DefaultPolicy() Policy {
	return Policy{
		Foreground: Range{Min: 30 * time.Second, Interval: 60 * time.Second, Max: 120 * time.Second},
		Background: Range{Min: 90 * time.Second, Interval: 240 * time.Second, Max: 900 * time.Second},
		Desktop:    60 * time.Second,
	}
}

// Request is what the interval of a session depends on.
type Request struct {
	Background bool // in background, or about to be suspended
	Desktop    bool // desktop platform or wired network
}

// Grant returns the heartbeat interval for r.
func (p Policy) Grant(r Request) time.Duration {
	switch {
	case r.Desktop:
		return p.Desktop
	case r.Background:
		return p.Background.Interval
	default:
		return p.Foreground.Interval
	}
}

// Longest is the largest interval the policy can ever grant; what outlives a session's silence is sized by it.
func (p Policy) Longest() time.Duration { return max(p.Foreground.Max, p.Background.Max, p.Desktop) }

// Bounds of everything a policy may hold. Below a second the pings outweigh the messages, above an hour a silent death
// is seen too late to matter.
const (
	shortest = time.Second
	longest  = time.Hour
)

// Validate returns every fault of the policy, each naming its field.
func (p Policy) Validate() []error {
	var faults []error
	check := func(name string, d time.Duration) {
		if d < shortest || d > longest || d%time.Second != 0 {
			faults = append(faults, fmt.Errorf("%s is %v, must be whole seconds from %v to %v", name, d, shortest, longest))
		}
	}
	for _, r := range []struct {
		name string
		Range
	}{{"foreground", p.Foreground}, {"background", p.Background}} {
		check(r.name+".min", r.Min)
		check(r.name+".interval", r.Interval)
		check(r.name+".max", r.Max)
		if r.Min > r.Interval || r.Interval > r.Max {
			faults = append(faults, fmt.Errorf("%s.interval is %v, must lie between min %v and max %v", r.name, r.Interval, r.Min, r.Max))
		}
	}
	check("desktop", p.Desktop)
	return faults
}

// Window is what a session may be late beyond its heartbeat interval before it counts as silent.
func Window(interval time.Duration) time.Duration { return max(15*time.Second, interval/10) }

// Limit is how long a session may be silent.
func Limit(interval time.Duration) time.Duration { return interval + Window(interval) }
