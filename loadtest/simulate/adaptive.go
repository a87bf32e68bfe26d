package simulate

import (
	"time"

	"lifeline/protocol/client"
	"lifeline/server/liveness"
)

// adaptive is this repository's heartbeat. What is decided is decided by its own code; here is only what the server and
// the client do around that code: who tells whom, and when.
type adaptive struct {
	p      *phone
	policy liveness.Policy
	prober *client.Prober

	// The phone's end.
	granted, limit time.Duration
	lead           float64 // how much of the interval passes before the ping
	asks           int     // seconds of silence that the ping asks for
	echoed         bool    // an Echo came while the process was frozen

	// The server's end.
	session        liveness.Line
	request        liveness.Request
	interval, next time.Duration
}

// epoch is the wall clock at the start.
var epoch = time.Unix(1_700_000_000, 0)

func newAdaptive(p *phone) *adaptive {
	return &adaptive{p: p, policy: liveness.DefaultPolicy(), prober: client.NewProber(client.ProberState{}, p.r.Float64)}
}

func (a *adaptive) clock() time.Time { return epoch.Add(time.Duration(a.p.now) * time.Millisecond) }

// loop is the time of the server's loop, which rounds down to a tenth of a second.
func (a *adaptive) loop() liveness.Time { return loopTime(a.p.now) }

func loopTime(ms int64) liveness.Time { return liveness.Time(ms / 100) }

func (a *adaptive) join(net int) { a.prober.Join(a.p.world.networks[net].key, a.clock()) }

func (a *adaptive) connected() {
	a.prober.Connected()
	low, high := a.prober.Bounds()
	a.session = liveness.Line{}
	a.session.SetLow(liveness.Bears(low, high))
	a.request = liveness.Request{Background: !a.p.front}
	a.interval, a.next = 0, 0
	a.grant()
	a.lead = a.p.r.Float64()
}

// grant is what a Connack or a Pong with a heartbeat carries. A smaller interval waits for the next frame.
func (a *adaptive) grant() {
	a.request.Low = a.session.Low()
	interval := a.policy.Grant(a.request)
	if a.next = 0; interval >= a.interval {
		a.interval = interval
	} else {
		a.next = interval
	}
	a.granted, a.limit = interval, a.policy.EchoLimit(a.request)
}

func (a *adaptive) turned() {
	a.request.Background = !a.p.front
	a.grant()
}

func (a *adaptive) pingAt() int64 {
	if due := a.prober.Due(); !due.IsZero() {
		return due.Sub(epoch).Milliseconds()
	}
	return a.p.quiet + int64(a.lead*float64(a.prober.Interval(a.granted).Milliseconds()))
}

func (a *adaptive) ping() {
	a.asks = int(a.prober.Ping(a.granted, a.limit, a.clock()) / time.Second)
	a.lead = 0.9 + 0.1*a.p.r.Float64()
}

func (a *adaptive) heard(ping bool) {
	if a.next != 0 {
		a.interval, a.next = a.next, 0
	}
	if ping {
		if c := a.path().Proven(loopTime(a.p.lastIn), a.loop()); c > 0 {
			a.session.SetLow(time.Duration(c) * time.Second)
			a.grant()
		}
	}
	a.step(liveness.PathFrame)
}

// answered is the Pong. One that refuses the silence asked for says so by its limit, which is in force from then on
// [P-6.24].
func (a *adaptive) answered() {
	switch c := a.asks; {
	case c == 0:
	case a.policy.Try(&a.session, a.request, c, a.loop()):
		a.session.SetPath(a.path().Ask(c))
		a.p.sum.trials++
	default:
		a.limit = 0
	}
	a.asks = 0
	a.prober.Pong(a.limit)
}

func (a *adaptive) passed() { a.prober.Frame() }
func (a *adaptive) wrote()  { a.step(liveness.PathWrote) }

func (a *adaptive) died(gap int64) {
	a.prober.Died(time.Duration(gap)*time.Millisecond, a.granted, a.clock())
}

func (a *adaptive) delayed(gap int64) {
	a.prober.Delayed(time.Duration(gap)*time.Millisecond, a.granted, a.clock())
}

func (a *adaptive) path() liveness.PathState { return a.session.Path(a.loop()) }

func (a *adaptive) facts() liveness.PathFacts {
	return liveness.PathFacts{LastIn: loopTime(a.p.lastIn), Interval: a.interval, Background: a.request.Background, Hold: a.policy.Hold}
}

func (a *adaptive) step(e liveness.PathEvent) liveness.PathAct {
	f := a.facts()
	before := a.path()
	if before.Suspicious() && e == liveness.PathSwept {
		f.Info = a.info()
	}
	after, act := liveness.NextPath(before, e, f, a.loop())
	a.session.SetPath(after)
	if after.Path == liveness.PathSuspect {
		a.p.noticed()
	}
	return act
}

// info is what the kernel says while Probes are out.
func (a *adaptive) info() liveness.PathInfo {
	if p := a.p; p.net >= 0 && p.up && !p.dead && !p.expired {
		return liveness.PathInfo{Known: true}
	}
	return liveness.PathInfo{Known: true, Queued: 2, Backoff: 5, AckAge: time.Minute}
}

// serverAt is the first pass of the sweep that finds something to do; it passes once a second.
func (a *adaptive) serverAt() int64 {
	f, s := a.facts(), a.path()
	if s.Suspicious() {
		f.Info = a.info()
	}
	return (int64(s.Due(f))*100 + second - 1) / second * second
}

func (a *adaptive) serve() {
	switch p := a.p; a.step(liveness.PathSwept) {
	case liveness.SendEcho:
		switch {
		case !p.reach():
		case p.frozen:
			a.echoed = true
		default:
			p.wake()
			a.prober.Echo(a.clock())
			p.beat()
		}
	case liveness.SendProbe:
		if p.reach() && !p.frozen {
			p.wake()
			p.try(false)
		}
	case liveness.PathClose:
		p.shut()
	}
}

func (a *adaptive) thawed() {
	if a.echoed {
		a.echoed = false
		a.prober.Echo(a.clock())
	}
}
