package loadtest

// Times on the run's clock are nanoseconds since the run began.
const (
	millisecond = 1_000_000
	second      = 1000 * millisecond
)

// How long a device waits for an answer before it gives its connection up.
const (
	connackPatience = 30 * second
	pongPatience    = 17 * second // a client's wait and its retry
)

// defaultBeat is the heartbeat of a server that names none.
const defaultBeat = 60 * second

// heartbeat says when a device pings: after a silence of its own, at a random point in the last tenth of the interval
// that the server grants. It is a value without a clock.
type heartbeat struct {
	quiet  int64 // since when nothing was sent
	lead   int64 // how much silence this time
	pinged int64 // when the oldest unanswered Ping went; 0: there is none
}

// start begins with a connection. The first Ping comes at a random point of the whole interval, so that a storm of
// log-ins does not become a storm of pings. u is a random part of 1.
func (h *heartbeat) start(now, interval int64, u float64) {
	*h = heartbeat{quiet: now, lead: int64(u * float64(interval))}
}

// due tells whether it is time for a Ping.
func (h *heartbeat) due(now int64) bool { return h.pinged == 0 && now-h.quiet >= h.lead }

// ping notes that one was sent. late is how much later than due it may be seen that the next one is.
func (h *heartbeat) ping(now, interval, late int64, u float64) {
	h.pinged, h.quiet = now, now
	h.lead = int64(0.9*float64(interval) + u*max(0, 0.1*float64(interval)-float64(late)))
}

func (h *heartbeat) pong() { h.pinged = 0 }

// dead tells whether a Ping has waited for its Pong too long.
func (h *heartbeat) dead(now int64) bool { return h.pinged != 0 && now-h.pinged > pongPatience }
