package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"lifeline/protocol"
)

// Client is one device of one user. Make it with New, call Run, and use the other methods from any goroutine.
type Client struct {
	// Set at construction.
	o      Options
	random func() float64 // [0, 1)
	wake   chan struct{}  // has a value when mail has

	sending sync.Mutex // held by Send, so that the outbox and the queue have one order

	mu       sync.Mutex
	running  bool              // Guarded by mu.
	mail     []func(*loop)     // for the loop, in order. Guarded by mu.
	status   Status            // Guarded by mu.
	activity protocol.Activity // Guarded by mu.
	network  protocol.Network  // Guarded by mu.
	lost     bool              // there is no network. Guarded by mu.
	waiting  int               // messages in the outbox. Guarded by mu.

	// Guarded by mu while nobody runs, owned by the loop while it does.
	sender sender
}

// New makes a client and loads its outbox. It opens no connection.
func New(o Options) (*Client, error) { return newClient(o, mathrand.Float64) }

func newClient(o Options, random func() float64) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("client options: %w", err)
	}
	o = o.withDefaults()
	c := &Client{o: o, random: random, wake: make(chan struct{}, 1), activity: o.Activity, network: o.Network}
	c.sender.random = random
	waiting, err := o.Outbox.Load()
	if err != nil {
		return nil, fmt.Errorf("load the outbox: %w", err)
	}
	for _, m := range waiting {
		c.sender.add(m)
	}
	c.waiting = len(waiting)
	return c, nil
}

// Run connects, receives and sends until ctx ends or the app leaves, and then returns nil; or until the server says
// that no retry helps, and then returns a [RefusedError]; or until the app's own callbacks or stores fail, and then
// returns that. It may be called again: it is a new instance, which the server takes as the user's own wish to be here
// [P-6.4]. One call at a time. It waits for the app's callbacks: one that never returns keeps Run from returning.
func (c *Client) Run(ctx context.Context) error {
	if !c.begin() {
		return ErrRunning
	}
	progress, known, err := c.o.Inbox.Progress()
	c.mu.Lock()
	l := newLoop(ctx, c, progress, known)
	c.mu.Unlock()
	l.loadBounds(time.Now())
	if err != nil {
		err = fmt.Errorf("load the position: %w", err)
		l.fail(err)
		l.cancel()
	} else {
		err = l.run(ctx)
		l.shut()
	}
	c.end(l)
	l.report(Status{State: Stopped, Cause: err}) // the app may answer with another Run
	return err
}

// begin is false while somebody runs. From now on the inbox belongs to Run, and mail is taken.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return false
	}
	c.running = true
	return true
}

// end has the loop read the mail that is left, and lets the next one begin.
func (c *Client) end(l *loop) {
	for mail := c.lastMail(); len(mail) > 0; mail = c.lastMail() {
		for _, f := range mail {
			f(l)
		}
	}
	l.refuseRequests()
}

// lastMail returns mail, or none when there will be none any more.
func (c *Client) lastMail() []func(*loop) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mail := c.mail
	c.mail = nil
	if len(mail) == 0 {
		c.running = false
	}
	return mail
}

// post has the loop call f soon. It is false when there is no loop.
func (c *Client) post(f func(*loop)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.postLocked(f)
}

func (c *Client) postLocked(f func(*loop)) bool {
	if !c.running {
		return false
	}
	c.mail = append(c.mail, f)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return true
}

func (c *Client) takeMail() []func(*loop) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mail := c.mail
	c.mail = nil
	return mail
}

// Send puts a message into the outbox and returns its client id when that is durable. Messages reach the server in the
// order of their Sends, at the latest after the next reconnect; OnSent tells the outcome. The message belongs to the
// client from now on.
func (c *Client) Send(m *Outgoing) (clientID []byte, err error) {
	if err := m.fault(); err != nil {
		return nil, err
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	if !c.reserve() {
		return nil, ErrOutboxFull
	}
	if len(m.ClientID) == 0 {
		m.ClientID = make([]byte, 16)
		_, _ = rand.Read(m.ClientID) // never fails
	}
	if m.Created.IsZero() {
		m.Created = time.Now()
	}
	if err := c.o.Outbox.Add(m); err != nil {
		c.release()
		return nil, fmt.Errorf("put into the outbox: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.postLocked(func(l *loop) { l.c.sender.add(m) }) {
		c.sender.add(m)
	}
	return m.ClientID, nil
}

func (c *Client) reserve() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting >= c.o.MaxOutbox {
		return false
	}
	c.waiting++
	return true
}

func (c *Client) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting--
}

// Status returns where the client stands now.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// SetActivity tells that the app came to the front, went to the background, or is about to be suspended. The server
// grants a heartbeat that goes with it; an app that comes to the front does not wait for the next try.
func (c *Client) SetActivity(a protocol.Activity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.activity = a
	c.postLocked(func(l *loop) { l.setActivity(time.Now(), a) })
}

// NetworkChanged tells that the device has a network, and that it is another one than before or was away. The client
// reconnects at once, at most every 5 s. Options.Network says what n holds.
func (c *Client) NetworkChanged(n protocol.Network) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.network, c.lost = n, false
	c.postLocked(func(l *loop) { l.networkChanged(time.Now(), n) })
}

// NetworkLost tells that the device has no network: until NetworkChanged nothing is tried. A connection that there is
// may survive it.
func (c *Client) NetworkLost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
	c.postLocked(func(l *loop) { l.networkLost(time.Now()) })
}

// Leave says goodbye: what the app has handled is acknowledged, and Run returns within a few seconds. After a logout the
// server forgets the device: it is not woken any more, and begins anew when it comes back. Run returns an error when the
// server could not be told of a logout. Before Run and after it there is nobody to say goodbye.
func (c *Client) Leave(reason protocol.ByeReason) {
	c.post(func(l *loop) { l.leave(time.Now(), reason) })
}

var errUntold = errors.New("the server was not told of the logout")
