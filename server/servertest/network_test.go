package servertest

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// network lies between a phone and a node. It forgets a connection that was silent for longer than it bears: what the
// node sends then waits in the node's kernel, and what the phone sends opens the connection again, or does not where the
// network is strict.
type network struct {
	n      *Node
	bears  time.Duration
	strict bool

	carriers sync.WaitGroup // goroutines of links; they end after the phone has hung up

	mu    sync.Mutex
	away  bool  // the phone has no coverage. Guarded by mu.
	links int   // connections so far. Guarded by mu.
	last  *link // Guarded by mu.
}

var errNoCoverage = errors.New("no coverage")

// dial implements client.Options.Dial.
func (w *network) dial(context.Context, string, string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return nil, errNoCoverage
	}
	near, far := net.Pipe()
	l := &link{network: w, far: far, server: w.n.Dial(w.links % len(w.n.loops)), packet: time.Now(), opened: make(chan struct{}, 1), done: make(chan struct{})}
	w.links++
	w.last = l
	w.carriers.Go(l.toServer)
	w.carriers.Go(l.toPhone)
	return near, nil
}

func (w *network) setAway(away bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

func (w *network) dials() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.links
}

// interval is the heartbeat that the node has granted on the last connection.
func (w *network) interval(t *testing.T) (interval time.Duration) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.last.server
	c.loop.do(func() {
		s := c.conn.session
		interval = time.Duration(cmp.Or(s.NextInterval, s.Interval)) * time.Second
	})
	return interval
}

// link is one connection through a network.
type link struct {
	network *network
	far     net.Conn // the phone has the other end
	server  *Client
	opened  chan struct{} // the phone sent something
	done    chan struct{} // the phone's end is closed

	packet time.Time // last one that passed. Guarded by network.mu.
	dead   bool      // forgotten for good. Guarded by network.mu.
}

// passes tells whether a packet goes through now.
func (l *link) passes(fromPhone bool) bool {
	w := l.network
	w.mu.Lock()
	defer w.mu.Unlock()
	forgotten := time.Since(l.packet) > w.bears
	l.dead = l.dead || forgotten && w.strict
	if w.away || l.dead || forgotten && !fromPhone {
		return false
	}
	l.packet = time.Now()
	return true
}

// toServer carries what the phone sends, and its end, if they go through.
func (l *link) toServer() {
	defer close(l.done)
	buf := make([]byte, 4096)
	for {
		n, err := l.far.Read(buf)
		if !l.passes(true) {
			if err != nil {
				return // the node is not told
			}
			continue
		}
		if err != nil {
			l.server.Close()
			return
		}
		l.server.Write(buf[:n])
		select {
		case l.opened <- struct{}{}:
		default:
		}
	}
}

// toPhone carries what the node sends. What does not go through is sent again when the phone was heard.
func (l *link) toPhone() {
	for {
		f, err := l.server.next()
		if errors.Is(err, errPatience) {
			select {
			case <-l.done:
				return
			default:
				continue
			}
		}
		for !l.passes(false) {
			select {
			case <-l.opened:
			case <-l.done:
				return
			}
		}
		if err != nil {
			_ = l.far.Close()
			return
		}
		if _, err := l.far.Write(f.Append(nil)); err != nil {
			return // the phone's end is closed
		}
	}
}
