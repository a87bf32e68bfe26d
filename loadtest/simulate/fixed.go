package simulate

// fixed pings after the same silence everywhere. Its server closes after one and a half of it, without asking.
type fixed struct {
	p        *phone
	interval int64
}

func (f *fixed) join(int)        {}
func (f *fixed) connected()      {}
func (f *fixed) turned()         {}
func (f *fixed) pingAt() int64   { return f.p.quiet + f.interval }
func (f *fixed) ping()           {}
func (f *fixed) heard(bool)      {}
func (f *fixed) answered()       {}
func (f *fixed) passed()         {}
func (f *fixed) wrote()          {}
func (f *fixed) died(int64)      {}
func (f *fixed) delayed(int64)   {}
func (f *fixed) serverAt() int64 { return f.p.lastIn + f.interval*3/2 }
func (f *fixed) serve()          { f.p.shut() }
func (f *fixed) thawed()         {}

// The rules of the heartbeat that only the client adapts.
const (
	smartLeast     = 210 * second
	smartMost      = 600 * second
	smartStep      = 60 * second
	smartStable    = 3
	smartSuccesses = 5
	smartFailures  = 3
)

// smart is the heartbeat that only the client adapts, in the way many apps do. A new connection first pings three times
// after the least interval. Then each network has an interval that grows a step after five successes, goes back a step
// at a failure and stays there, and goes back further at three failures in a row. A success is an answered ping. The
// server knows the interval.
type smart struct {
	fixed
	networks [numNetworks]smartNetwork
	here     *smartNetwork
	stable   int // answered pings of this connection
}

type smartNetwork struct {
	interval            int64
	successes, failures int
	found               bool
}

func (s *smart) join(net int) {
	s.here = &s.networks[net]
	if s.here.interval == 0 {
		s.here.interval = smartLeast
	}
}

func (s *smart) connected() { s.stable, s.interval = 0, smartLeast }

func (s *smart) answered() {
	n := s.here
	if s.stable < smartStable {
		s.stable++
	} else if n.successes++; n.successes >= smartSuccesses && !n.found {
		n.successes = 0
		n.interval = min(n.interval+smartStep, smartMost)
	}
	n.failures = 0
	if s.stable == smartStable {
		s.interval = n.interval
	}
}

func (s *smart) died(gap int64) {
	n := s.here
	if s.stable < smartStable || gap < n.interval {
		return
	}
	n.successes = 0
	n.failures++
	if !n.found || n.failures >= smartFailures {
		n.interval = max(n.interval-smartStep, smartLeast)
		n.found, n.failures = true, 0
	}
}
