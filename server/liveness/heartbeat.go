package liveness

import "time"

// Request is what the interval of a session depends on.
type Request struct {
	Background bool // in background, or about to be suspended
	Desktop    bool // desktop platform or wired network
	Slow       bool // 2G or 3G
	Suspends   bool // the system suspends the app in background (iOS): it could not tell sleep from silence

	// Low and High are what the client has found of its network: silence that the way from the server bears, and silence
	// that it does not. 0 = not known.
	Low, High time.Duration
}

// Grant returns the heartbeat interval for r, in whole seconds.
func (p Policy) Grant(r Request) time.Duration {
	least, interval, most := p.Foreground.Min, p.Foreground.Interval, p.Foreground.Interval
	switch {
	case r.Desktop:
		return p.Desktop
	case r.Background:
		least, interval, most = p.Background.Min, p.Background.Interval, p.most(r)
	}
	if bears := Bears(r.Low, r.High); bears > 0 {
		interval = Safe(bears)
	}
	return min(max(interval, least), most).Truncate(time.Second)
}

// EchoLimit returns the longest silence with which r's network may be tried [P-6.26], in whole seconds, 0 = none. It
// obeys the caps of the interval, because it takes the interval's place.
func (p Policy) EchoLimit(r Request) time.Duration {
	if !r.Background || r.Desktop || r.Suspends || p.EchoesPerDay == 0 {
		return 0
	}
	return p.most(r)
}

// Try says whether a trial with c seconds of silence is granted, and takes it from the session's budget.
func (p Policy) Try(l *Line, r Request, c int, now Time) bool {
	return c <= int(p.EchoLimit(r)/time.Second) && l.TakeEcho(p.EchoesPerDay, now)
}

// most is the largest interval in background.
func (p Policy) most(r Request) time.Duration {
	if r.Slow {
		return min(p.Background.Max, p.SlowMax)
	}
	return p.Background.Max
}

// Bears returns the silence that a network bears, by what is known of it; 0 = nothing is. Without a proof it is 0.7 of
// what failed, and it never comes close to that.
func Bears(low, high time.Duration) time.Duration {
	switch {
	case high <= 0:
		return max(low, 0)
	case low <= 0:
		return high / 10 * 7
	default:
		return min(low, high/100*95)
	}
}

// Safe returns the interval for a network that bears a silence: a tenth is kept for what is late.
func Safe(bears time.Duration) time.Duration { return bears / 10 * 9 }

// Window is what a session may be late beyond its heartbeat interval before it counts as silent.
func Window(interval time.Duration) time.Duration { return max(15*time.Second, interval/10) }

// Limit is how long a session may be silent.
func Limit(interval time.Duration) time.Duration { return interval + Window(interval) }
