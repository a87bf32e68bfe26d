package simulate

import "math/rand/v2"

// What a phone and its system do, whatever the algorithm. The waits for answers and for the next try are those of the
// reference client.
const (
	pongWait  = 5 * second
	pongRetry = 7 * second
	backFront = 2 * second  // at most, after an unexplained drop
	backBack  = 15 * second // in background
	switching = 2 * second  // from one network to another

	late      = 10 * second // a push that takes longer
	lateShare = 0.0185      // of the alarms in background come late, as in Doze
	lateLeast = 20 * second
	lateMost  = 420 * second

	never = int64(1) << 62
)

// line is a heartbeat algorithm: both ends of one phone's connection. The methods are called with the phone's time.
type line interface {
	join(net int)      // the phone is on this network
	connected()        // a new connection, both ends
	turned()           // the server heard that the app went to the foreground or left it
	pingAt() int64     // when the phone is to ping, if nothing happens before
	ping()             // it is about to
	heard(ping bool)   // the server received a frame, a Ping or another
	answered()         // the phone received the answer to its Ping
	passed()           // the phone sent or received another frame
	wrote()            // the server wrote a push
	died(gap int64)    // the phone found the connection dead after gap of silence
	delayed(gap int64) // old pushes came behind the phone's Ping after gap of silence
	serverAt() int64   // when the server has something to do
	serve()            // it does it
	thawed()           // the process goes on
}

// outcome is what becomes of a segment from the phone.
type outcome uint8

const (
	arrives outcome = iota
	vanishes
	refused // by a reset
)

// waiting is what the phone's next alarm is for.
type waiting uint8

const (
	toPing   waiting = iota
	forPong          // the answer to a frame
	forRetry         // the answer to its repetition
	toReturn         // the next try to connect
)

// phone is one phone with one algorithm, and what the server knows of it.
type phone struct {
	r     *rand.Rand
	world *world
	line  line
	sum   *tally
	now   int64

	net    int
	front  bool
	frozen bool

	// The phone's end of the connection.
	up     bool
	state  waiting
	alarm  int64
	quiet  int64 // last frame sent, or received and acknowledged
	gap    int64 // silence before the frame that waits for an answer
	joined int   // the network of the connection
	told   bool  // the server knows of front
	ended  bool  // the server closed while the process was frozen

	// The network's memory of it.
	mapping mapping
	packet  int64 // last one that passed
	expired bool
	dead    bool // forgotten for good

	// The server's end.
	open    bool
	lastIn  int64
	due     int64
	died    int64 // when the phone vanished without a word, -1 = it did not
	seen    bool  // and the server has noticed
	pending []int64
}

// run lives through the world.
func (p *phone) run() {
	p.net, p.died, p.alarm, p.due, p.state = gone, -1, never, never, toReturn
	for i := 0; ; {
		e := &p.world.events[i]
		alarm := p.alarm
		if p.frozen {
			alarm = never
		}
		switch {
		case p.due < e.at && p.due <= alarm:
			p.now = p.due
			p.line.serve()
		case alarm < e.at:
			p.now = alarm
			p.ring()
		default:
			p.now = e.at
			if e.kind == ends {
				p.forgotten()
				return
			}
			i++
			p.happens(e)
		}
		p.due = never
		if p.open {
			p.due = max(p.line.serverAt(), p.now+1)
		}
	}
}

func (p *phone) happens(e *event) {
	switch e.kind {
	case toNetwork:
		p.move(e.net)
	case toFront, toBack:
		p.thaw()
		p.turn(e.kind == toFront)
	case pushed:
		p.push()
	case sends:
		if p.up && p.state == toPing {
			p.exchange(false)
		}
	case freezes:
		p.frozen = !p.front
	case thaws:
		p.thaw()
	}
}

// move changes the network. On another one the phone connects anew; back on the same after a moment it asks at once
// whether the connection is still there.
func (p *phone) move(to int) {
	p.net = to
	switch {
	case to == noCoverage:
	case to == gone:
		if p.up && p.open && !p.dead && !p.forgotten() {
			p.died, p.seen = p.now, false
		}
		p.lose(never)
	case p.up && p.joined == to:
		if !p.frozen {
			p.wake()
			p.beat()
		}
	default:
		p.forgotten()
		p.line.join(to)
		p.lose(p.now + second + p.r.Int64N(switching))
	}
}

// turn tells the server that the app went to the foreground or left it.
func (p *phone) turn(front bool) {
	p.front, p.told = front, false
	switch {
	case p.up && p.net >= 0:
		p.exchange(false)
	case front && p.net >= 0:
		p.alarm = min(p.alarm, p.now+second)
	}
}

// ring is the phone's alarm.
func (p *phone) ring() {
	if p.net < 0 { // the next network wakes it
		if p.alarm = never; p.state != toReturn {
			p.state = toPing
		}
		return
	}
	switch p.state {
	case toPing:
		p.wake()
		p.beat()
	case forPong:
		p.state, p.alarm = forRetry, p.now+pongRetry
		p.try(true)
	case forRetry:
		p.found()
	case toReturn:
		p.connect()
	}
}

func (p *phone) wake() {
	if !p.front {
		p.sum.wakeups++
	}
}

func (p *phone) beat() {
	p.line.ping()
	p.exchange(true)
}

// exchange sends a frame that the server answers.
func (p *phone) exchange(ping bool) {
	p.gap = p.now - p.quiet
	p.state, p.alarm = forPong, p.now+pongWait
	p.try(ping)
}

func (p *phone) try(ping bool) {
	switch p.send() {
	case arrives:
		p.line.heard(ping)
		p.lastIn, p.quiet = p.now, p.now
		if !p.told {
			p.told = true
			p.line.turned()
		}
		if p.deliver() && ping {
			p.line.delayed(p.gap)
		}
		if ping {
			p.line.answered()
		} else {
			p.line.passed()
		}
		p.rest()
	case refused:
		p.found()
	}
}

// rest sets the alarm of the next ping. In background the system may be late.
func (p *phone) rest() {
	p.state, p.alarm = toPing, max(p.line.pingAt(), p.now+1)
	if !p.front && p.r.Float64() < p.world.late {
		p.alarm += between(p.r, lateLeast, lateMost)
	}
}

// found says that the connection does not answer.
func (p *phone) found() {
	p.line.died(p.gap)
	p.forgotten()
	p.drop()
}

// drop waits before the next try.
func (p *phone) drop() {
	most := int64(backBack)
	if p.front {
		most = backFront
	}
	p.lose(p.now + 1 + p.r.Int64N(most))
}

func (p *phone) lose(again int64) { p.up, p.state, p.alarm = false, toReturn, again }

func (p *phone) connect() {
	p.wake()
	p.up, p.joined, p.quiet, p.told, p.ended = true, p.net, p.now, true, false
	p.mapping, p.packet = p.world.networks[p.net].mapping(p.r, p.now), p.now
	p.expired, p.dead = false, false
	p.open, p.lastIn, p.died = true, p.now, -1
	p.line.connected()
	p.deliver()
	p.rest()
}

// forgotten says that the network does not know the connection any more, and counts that once.
func (p *phone) forgotten() bool {
	if p.up && !p.expired && p.now-p.packet > p.mapping.life {
		p.expired = true
		p.sum.breaks++
	}
	return p.expired
}

// send carries a segment from the phone to the server.
func (p *phone) send() outcome {
	if p.net < 0 {
		return vanishes
	}
	if p.forgotten() {
		p.dead = p.mapping.kind != loose
		p.expired = p.dead
	}
	switch {
	case p.dead && p.mapping.kind == strict:
		return vanishes
	case p.dead:
		return refused
	}
	p.packet = p.now
	if !p.open {
		return refused
	}
	return arrives
}

// reach carries a segment from the server to the phone's kernel.
func (p *phone) reach() bool {
	if p.net < 0 || !p.up || p.dead || p.forgotten() {
		return false
	}
	p.packet = p.now
	return true
}

// push is a message for the phone. It counts if the phone could have it at once.
func (p *phone) push() {
	counts := p.net >= 0 && !p.frozen
	if counts {
		p.sum.pushes++
		p.pending = append(p.pending, p.now)
	}
	if !p.open {
		return
	}
	p.line.wrote()
	if p.reach() && counts {
		p.try(false) // the acknowledgement
	}
}

// deliver hands over what waited and says whether some of it is late.
func (p *phone) deliver() (delayed bool) {
	for _, at := range p.pending {
		if p.now-at > late {
			p.sum.late++
			delayed = true
		}
	}
	p.pending = p.pending[:0]
	return delayed
}

// thaw lets the process go on.
func (p *phone) thaw() {
	if !p.frozen {
		return
	}
	p.frozen = false
	p.line.thawed()
	p.alarm = max(p.alarm, p.now)
	if p.ended && p.up {
		p.drop()
	}
}

// noticed says that the server takes the phone for silent.
func (p *phone) noticed() {
	if p.died >= 0 && !p.seen {
		p.seen = true
		p.sum.seen = append(p.sum.seen, p.now-p.died)
	}
}

// shut ends the connection at the server. It was wrong to, if the phone's next frame would have arrived.
func (p *phone) shut() {
	p.noticed()
	if p.died >= 0 {
		p.sum.closed = append(p.sum.closed, p.now-p.died)
	}
	if p.up && !p.dead && (!p.forgotten() || p.mapping.kind == loose) {
		p.sum.kills++
	}
	p.open = false
	switch {
	case !p.reach():
	case p.frozen:
		p.ended = true
	default:
		p.drop()
	}
}
