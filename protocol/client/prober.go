package client

import (
	"slices"
	"time"
)

// The rules of trying a network.
const (
	trialSlack   = 12 * time.Second // an Echo that is this late will not come
	trialSlept   = 5 * time.Second  // noticed later than this, the phone slept: the trial tells nothing
	trialsPerDay = 24

	shortestBeat = 90 * time.Second // no network is worth more pings than that
	longestBeat  = 24 * 60 * 60     // seconds; nothing that was found is more
	closeEnough  = 30 * time.Second // the search ends when the bounds are this close, or within 12 % of the lower
	searchAgain  = 7 * 24 * time.Hour
	searchSpread = 24 * time.Hour // ± on searchAgain
	strikesMeet  = 24 * time.Hour

	networksKept    = 64
	networksKeptFor = 30 * 24 * time.Hour
)

// Prober learns how much silence each network bears before it forgets a connection. What the server pushes into a
// forgotten connection is lost, while the phone's own next ping often opens it again and is answered; so a heartbeat
// proves nothing, and only a frame that the server sends after the silence does. A trial is a Ping that asks for that
// frame, an Echo. It takes the place of a heartbeat and costs no wake-up of its own.
//
// It is a value with no clock: now is an argument. Its owner tells it what happens on the connection, in order. Trials
// are for apps in background; the server allows none elsewhere.
type Prober struct {
	random func() float64 // [0, 1)

	known ProberState
	here  int  // in known.Networks, -1 = a network without a key
	good  bool // a heartbeat was answered on this connection
	trial trial
}

// ProberState is what outlives the process. The zero value knows nothing.
type ProberState struct {
	Networks []NetworkBounds `json:"networks"`
	Day      int64           `json:"day"`    // when the day of trials began, Unix seconds
	Trials   int             `json:"trials"` // since then
}

// NetworkBounds is what is known of one network. Times are Unix seconds, 0 = never.
type NetworkBounds struct {
	Key    uint64 `json:"key"` // of its identity: see protocol.Network
	Low    int    `json:"low"` // seconds of silence that it bears
	High   int    `json:"high"`
	Proven bool   `json:"proven"`           // Low was seen; otherwise it is a guess
	Retest bool   `json:"retest,omitempty"` // High is old: try it again first
	Again  int64  `json:"again,omitempty"`  // the search has ended and begins again then
	Strike int64  `json:"strike,omitempty"` // last silent death
	Gap    int    `json:"gap,omitempty"`    // the silence before it, in seconds
	Used   int64  `json:"used"`
}

// trial is a question under way.
type trial struct {
	c        time.Duration // 0 = none
	deadline time.Time     // an Echo comes before
	missed   bool          // no Echo came and a Ping was sent to see whether the connection is still there
}

// NewProber goes on from what is known.
func NewProber(known ProberState, random func() float64) *Prober {
	known.Networks = slices.DeleteFunc(slices.Clone(known.Networks), NetworkBounds.damaged)
	p := &Prober{known: known, random: random, here: -1}
	p.keep(networksKept)
	return p
}

func (n NetworkBounds) damaged() bool {
	return n.Key == 0 || n.Low < 0 || n.High < 0 || n.Low > longestBeat || n.High > longestBeat || n.High > 0 && n.High <= n.Low
}

// State returns what to keep.
func (p *Prober) State() ProberState {
	kept := p.known
	kept.Networks = slices.Clone(p.known.Networks)
	return kept
}

// Join says which network the device is on now; key 0 is one that cannot be told from others, of which nothing is
// learned.
func (p *Prober) Join(key uint64, now time.Time) {
	p.trial, p.here = trial{}, -1
	p.known.Networks = slices.DeleteFunc(p.known.Networks, func(n NetworkBounds) bool {
		return now.Sub(time.Unix(n.Used, 0)) > networksKeptFor
	})
	if key == 0 {
		return
	}
	p.here = slices.IndexFunc(p.known.Networks, func(n NetworkBounds) bool { return n.Key == key })
	if p.here < 0 {
		p.keep(networksKept - 1)
		p.known.Networks = append(p.known.Networks, NetworkBounds{Key: key})
		p.here = len(p.known.Networks) - 1
	}
	p.network().Used = now.Unix()
}

// keep forgets the networks that were not used for longest until there are at most n.
func (p *Prober) keep(n int) {
	for len(p.known.Networks) > n {
		oldest := 0
		for i, network := range p.known.Networks {
			if network.Used < p.known.Networks[oldest].Used {
				oldest = i
			}
		}
		p.known.Networks = slices.Delete(p.known.Networks, oldest, oldest+1)
	}
}

func (p *Prober) network() *NetworkBounds { return &p.known.Networks[p.here] }

// Bounds returns what Connect reports of this network: silence that it bears and silence that it does not, 0 = not
// known.
func (p *Prober) Bounds() (low, high time.Duration) {
	if p.here < 0 {
		return 0, 0
	}
	n := p.network()
	return seconds(n.Low), seconds(n.High)
}

// Interval returns the silence after which to ping: what the server granted, or less when this network was found not to
// bear that since. Due comes first.
func (p *Prober) Interval(granted time.Duration) time.Duration {
	if p.here < 0 || p.network().High == 0 {
		return granted
	}
	n := p.network()
	bears := min(seconds(n.Low), seconds(n.High)/100*95)
	return min(granted, max(shortestBeat, bears/10*9))
}

// Due returns when a running trial needs its Ping, which takes the place of the heartbeat; zero = no trial runs.
func (p *Prober) Due() time.Time {
	if p.trial.missed {
		return time.Time{}
	}
	return p.trial.deadline
}

// Connected begins a connection.
func (p *Prober) Connected() { p.good, p.trial = false, trial{} }

// Ping is asked when a heartbeat is about to be sent, and on an Echo. It returns the silence to ask for with it, 0 =
// none. granted and limit are the interval and the echo limit of the last Heartbeat.
func (p *Prober) Ping(granted, limit time.Duration, now time.Time) time.Duration {
	if p.trial.c > 0 {
		if now.After(p.trial.deadline.Add(trialSlept)) || p.trial.missed {
			p.trial = trial{}
		} else {
			p.trial.missed = true
		}
		return 0
	}
	if !p.good || p.here < 0 || limit < shortestBeat {
		return 0
	}
	c := p.network().next(granted, limit, now).Truncate(time.Second)
	if c == 0 {
		if n := p.network(); n.Again == 0 {
			n.Again = now.Add(searchAgain + time.Duration((2*p.random()-1)*float64(searchSpread))).Unix()
		}
		return 0
	}
	if !p.afford(now) {
		return 0
	}
	p.trial = trial{c: c, deadline: now.Add(c + trialSlack)}
	return c
}

// afford takes one trial from the day's.
func (p *Prober) afford(now time.Time) bool {
	if day := now.Sub(time.Unix(p.known.Day, 0)); day < 0 || day >= 24*time.Hour {
		p.known.Day, p.known.Trials = now.Unix(), 0
	}
	if p.known.Trials >= trialsPerDay {
		return false
	}
	p.known.Trials++
	return true
}

// Pong takes the answer to a Ping. limit is the echo limit in force with it: one below the trial's silence refuses it.
func (p *Prober) Pong(limit time.Duration) {
	switch {
	case p.trial.missed:
		p.network().fail(p.trial.c)
		p.trial = trial{}
	case p.trial.c > limit:
		p.trial = trial{}
	}
	p.good = true
}

// Echo takes an Echo. It is answered by a Ping at once, which tells the server that it came.
func (p *Prober) Echo(now time.Time) {
	if p.trial.c > 0 && !p.trial.missed && !now.After(p.trial.deadline) {
		p.network().bear(p.trial.c)
	}
	p.trial = trial{}
}

// Frame says that another frame passed, in whatever direction, which ends a trial, but not the question whether a
// connection that bore no Echo is still there. Pongs are not told here.
func (p *Prober) Frame() {
	if !p.trial.missed {
		p.trial = trial{}
	}
}

// Died says that the connection was found dead by a Ping that was not answered or was answered by a reset, after gap of
// silence, on a network that the device had not left and with coverage. granted is the interval in force.
func (p *Prober) Died(gap, granted time.Duration, now time.Time) {
	expected := p.Interval(granted)
	if p.trial.missed {
		gap, expected = p.trial.c, p.trial.c
	}
	p.trial = trial{}
	p.strike(gap, expected, now)
}

// Delayed says that a push that was 10 s old or more came right behind the device's own Ping after gap of silence, with
// coverage all the while: the network had forgotten the connection, and the Ping opened it again.
func (p *Prober) Delayed(gap, granted time.Duration, now time.Time) {
	if !p.trial.missed { // or the Pong says it all
		p.strike(gap, p.Interval(granted), now)
	}
}

// strike counts a death by silence. One may have another cause; two are believed.
func (p *Prober) strike(gap, expected time.Duration, now time.Time) {
	if p.here < 0 || gap < expected/10*8 {
		return
	}
	n := p.network()
	if since := now.Sub(time.Unix(n.Strike, 0)); n.Strike == 0 || since > strikesMeet || since < 0 {
		n.Strike, n.Gap = now.Unix(), wholeSeconds(gap)
		return
	}
	n.fail(max(gap, seconds(n.Gap))) // what both agree on
	n.Strike, n.Gap = 0, 0
}

// next returns the silence to try, 0 = the search has ended.
func (n *NetworkBounds) next(granted, limit time.Duration, now time.Time) time.Duration {
	low, high := seconds(n.Low), seconds(n.High)
	if n.Again != 0 {
		if now.Unix() < n.Again {
			return 0
		}
		n.Again, n.Proven, n.Retest = 0, false, high > 0
	}
	switch {
	case n.Retest:
		return min(high, limit)
	case high > 0 && high <= shortestBeat:
		return 0
	case !n.Proven && low == 0:
		return min(granted, limit)
	case !n.Proven:
		return min(max(low, shortestBeat), limit)
	case low >= limit:
		return 0
	case high == 0:
		return min(low/2*3, limit)
	case high-low <= max(closeEnough, low/100*12):
		return 0
	default:
		return min((low+high)/2, limit)
	}
}

// bear notes that the network bears c.
func (n *NetworkBounds) bear(c time.Duration) {
	n.Low, n.Proven, n.Retest = wholeSeconds(c), true, false
	if n.High <= n.Low {
		n.High = 0
	}
}

// fail notes that the network does not bear c. Below that, what was believed to be borne is now a guess.
func (n *NetworkBounds) fail(c time.Duration) {
	if n.High == 0 || n.High > wholeSeconds(c) {
		n.High = wholeSeconds(c)
	}
	n.Again, n.Retest = 0, false
	if n.Low == 0 || n.Low >= n.High {
		n.Low, n.Proven = n.High*7/10, false
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func wholeSeconds(d time.Duration) int { return int(d / time.Second) }
