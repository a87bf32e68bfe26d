package redisroute

import (
	"sync"
	"time"
)

// places are the servers' clocks a table may meet: each bucket's, and that of the leases.
const leasePlace = 64

// trustFor is how long a higher estimate of a server's time outweighs a lower one.
const trustFor = 10 * time.Second

// clocks estimates the time of the servers. A server said a time and its answer arrived some time later, so an estimate
// is never too high, unless the server's clock was set back: then it is, for trustFor at most. If the clock was set
// forward, commands seem late, and their answers bring the new time.
type clocks struct {
	mu     sync.Mutex
	places [leasePlace + 1]reading
}

type reading struct {
	server int64     // milliseconds
	at     time.Time // of the node's clock
}

// read takes an answer's time.
func (c *clocks) read(place int, server int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.places[place]
	if now.Sub(r.at) > trustFor || server >= r.estimate(now) {
		*r = reading{server, now}
	}
}

// estimate returns the server's time in milliseconds, 0 = never read.
func (c *clocks) estimate(place int, now time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.places[place].estimate(now)
}

func (r *reading) estimate(now time.Time) int64 {
	if r.server == 0 {
		return 0
	}
	return r.server + now.Sub(r.at).Milliseconds()
}
