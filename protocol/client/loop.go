package client

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"lifeline/protocol"
)

// loop is one call of Run. Its fields are owned by the goroutine that runs it; others reach it through Client.post.
type loop struct {
	// Set at construction.
	c        *Client
	ctx      context.Context // of everything it starts; ends with it, not with Run's ctx
	cancel   context.CancelFunc
	instance uint64
	began    time.Time
	receiver *receiver
	helpers  sync.WaitGroup // attempts and token callbacks

	session *session // nil unless online
	attempt *attempt // nil unless a try is under way
	leaving *leaving // nil until the app leaves
	backoff backoff
	hosts   hosts
	plan    plan  // of the next try
	cause   error // why there is no connection
	ended   bool  // run returns
	failure error // what run returns

	prober *Prober
	kept   []byte // of the prober's state
	sleep  sleep

	progress  Progress // persisted
	known     bool     // progress counts: no reset is outstanding
	resets    int
	gate      gate
	pulls     pulls
	inquiries inquiries
	gone      [][]byte // client ids to be removed from the outbox

	tries      uint64 // Connects of this instance
	activity   protocol.Activity
	network    protocol.Network
	lost       bool          // there is no network
	suspended  time.Time     // since when; zero: not
	previous   protocol.Code // last code seen since the last Connack
	duplicates uint64        // reported in the Connect under way
	scene      Scene
	sceneFrom  time.Time
	sceneTries int
}

func newLoop(ctx context.Context, c *Client, p Progress, known bool) *loop {
	var instance [8]byte
	_, _ = rand.Read(instance[:]) // never fails
	l := &loop{
		c:         c,
		instance:  binary.LittleEndian.Uint64(instance[:]),
		began:     time.Now(),
		backoff:   backoff{random: c.random},
		hosts:     hosts{configured: c.o.Servers},
		progress:  p,
		known:     known,
		gate:      gate{received: p.Pos},
		pulls:     pulls{requests[*pull]{random: c.random}},
		inquiries: inquiries{requests: requests[*inquiry]{random: c.random}},
		activity:  c.activity,
		network:   c.network,
		lost:      c.lost,
	}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.receiver = newReceiver(&c.o, p.Epoch, func(p progress) {
		c.post(func(l *loop) { l.persisted(time.Now(), p) })
	})
	return l
}

func (l *loop) run(ctx context.Context) error {
	go l.receiver.run(l.ctx)
	l.begin(time.Now(), SceneStart)
	if l.lost {
		l.report(Status{State: Waiting})
	}
	l.tick(time.Now())
	timer := time.NewTimer(0)
	defer timer.Stop()
	asked := ctx.Done()
	for !l.ended {
		timer.Reset(time.Until(l.due()))
		select {
		case <-asked:
			asked = nil
			l.readMail() // a Leave that came before says more
			l.leave(time.Now(), protocol.ByeQuit)
		case <-l.c.wake:
			l.readMail()
		case batch, ok := <-l.frames():
			if ok {
				l.received(time.Now(), batch)
			} else {
				l.lineLost(time.Now())
			}
		case <-timer.C:
		}
		l.tick(time.Now())
	}
	return l.failure
}

func (l *loop) readMail() {
	for _, f := range l.c.takeMail() {
		f(l)
	}
}

// frames is what to read, nothing while there is no session.
func (l *loop) frames() <-chan []protocol.Frame {
	if l.session == nil {
		return nil
	}
	return l.session.connection.frames
}

// tick does everything that is due, in an order that lets each step see the one before.
func (l *loop) tick(now time.Time) {
	if l.session != nil {
		l.beat(now)
		l.sendDue(now)
		l.sessionOver(now)
	}
	for m := l.c.sender.expired(now); m != nil; m = l.c.sender.expired(now) {
		l.settled(Sent{Message: m, Err: ErrExpired})
	}
	l.removeGone()
	if l.leaving != nil {
		l.goOnLeaving(now)
		return
	}
	if l.session == nil && l.attempt == nil && !l.ended && !l.lost && !now.Before(l.plan.at) {
		l.try(now)
	}
}

// due is when tick has something to do, if nothing happens before.
func (l *loop) due() time.Time {
	at := l.c.sender.due(l.session != nil)
	if s := l.session; s != nil {
		at = earliest(at, s.heartbeat.due())
		at = earliest(at, s.acks.due())
		at = earliest(at, s.renewal.due())
		at = earliest(at, l.pulls.due())
		at = earliest(at, l.inquiries.due())
	}
	if l.leaving != nil {
		at = earliest(at, l.leaving.deadline)
	} else if l.session == nil && l.attempt == nil && !l.lost {
		at = earliest(at, l.plan.at)
	}
	if at.IsZero() {
		return time.Now().Add(time.Hour)
	}
	return at
}

// begin starts to measure the way back.
func (l *loop) begin(now time.Time, scene Scene) {
	l.scene, l.sceneFrom, l.sceneTries = scene, now, 0
}

// try starts an attempt. Its outcome comes as mail.
func (l *loop) try(now time.Time) {
	l.backoff.tried(now)
	l.tries++
	l.sceneTries++
	l.duplicates += l.receiver.takeDuplicates()
	ctx, cancel := context.WithCancel(l.ctx)
	a := &attempt{o: &l.c.o, host: l.hosts.current(), renew: l.plan.renew, connect: l.connect(), cancel: cancel}
	l.attempt = a
	l.report(Status{State: Connecting, Host: a.host, Cause: l.cause})
	l.helpers.Go(func() {
		o := a.run(ctx)
		if !l.c.post(func(l *loop) { l.tried(time.Now(), o) }) && o.connection != nil {
			o.connection.close()
		}
	})
}

// connect says no position while a reset is outstanding, and then no epoch either [P-6.2], [P-6.7].
func (l *loop) connect() protocol.Connect {
	f := protocol.Connect{
		Version:       protocol.Version,
		Capabilities:  l.c.o.Capabilities,
		Device:        []byte(l.c.o.Device),
		Instance:      l.instance,
		Attempt:       l.tries,
		Platform:      l.c.o.Platform,
		AppVersion:    []byte(l.c.o.AppVersion),
		Activity:      l.activity,
		Network:       l.reported(),
		MaxPayload:    protocol.PayloadCeiling,
		MaxBacklog:    l.c.o.MaxBacklog,
		PreviousClose: l.previous,
		Duplicates:    l.duplicates,
	}
	if l.known {
		epoch := l.progress.Epoch
		f.Epoch, f.Pos, f.HasPos = epoch[:], l.progress.Pos, true
	}
	return f
}

// tried takes the outcome of an attempt. One that was given up brings a connection that nobody wants, and what the server
// says on it concerns nobody [P-6.33].
func (l *loop) tried(now time.Time, o outcome) {
	o.attempt.cancel()
	if l.attempt != o.attempt || l.ended {
		if o.connection != nil {
			o.connection.close()
		}
		return
	}
	l.attempt = nil
	if o.err == nil {
		l.online(now, &o)
		return
	}
	if errors.Is(o.err, ErrNoToken) {
		l.fail(because(o.err, l.cause))
		return
	}
	if !o.noToken && o.status.Retry != protocol.RetryRefreshToken { // a missing token is not the host's fault
		l.hosts.failed()
	}
	l.hosts.moved(o.hosts)
	if o.status.Failed() {
		l.previous = o.status.Code // [P-6.35]
	}
	l.offline(now, ending{status: o.status}, o.err)
	l.plan.renew = l.plan.renew || o.noToken && o.attempt.renew
}

// online opens the session and treats what came behind Connack.
func (l *loop) online(now time.Time, o *outcome) {
	f := o.connack
	l.session = l.newSession(now, o)
	l.hosts.learned(f.Hosts)
	l.c.sender.connected(int(f.Limits.UnansweredSends))
	l.pulls.connected()
	l.inquiries.connected(int(f.Limits.MaxFrame))
	if f.Reset {
		l.resets++
		l.known = false
		at := Progress{Epoch: Epoch(f.Epoch), Pos: f.Start}
		l.gate.received = f.Start
		l.receiver.reset(Reset{at}, l.resets)
	} else {
		l.session.acks.stored(now, l.progress.Pos) // the app may have gone on since Connect was made
	}
	l.cause = nil
	l.reportOnline()
	l.c.o.OnReceiving(Arrival{Scene: l.scene, Took: now.Sub(l.sceneFrom), Tries: l.sceneTries, Duplicates: l.duplicates})
	l.duplicates, l.previous = 0, 0
	if l.activity != o.attempt.connect.Activity {
		l.sendState(now)
	}
	l.received(now, o.rest)
}

// sessionOver ends the session when either side has given it up, at once when the server has [P-6.32].
func (l *loop) sessionOver(now time.Time) {
	s := l.session
	if s.close == nil && s.fault == nil {
		return
	}
	s.connection.close()
	l.session = nil
	e := ending{online: true, lasted: now.Sub(s.since)}
	if s.close == nil {
		l.begin(now, SceneDrop)
		l.offline(now, e, s.fault)
		return
	}
	e.status = s.close.Status
	l.previous = e.status.Code
	l.hosts.moved(s.close.Hosts)
	l.begin(now, SceneClosed)
	l.offline(now, e, &RefusedError{Status: e.status})
}

// offline plans the next try, or the end.
func (l *loop) offline(now time.Time, e ending, cause error) {
	l.cause = cause
	if l.leaving != nil {
		return
	}
	l.plan = l.backoff.ended(now, e, background(l.activity))
	if l.plan.stop {
		l.fail(cause)
		return
	}
	l.report(Status{State: Waiting, Next: l.nextTry(), Cause: cause})
}

func (l *loop) nextTry() time.Time {
	if l.lost {
		return time.Time{}
	}
	return l.plan.at
}

// persisted takes the receiver's progress.
func (l *loop) persisted(now time.Time, p progress) {
	if p.err != nil {
		l.fail(p.err)
		return
	}
	if p.resets != l.resets {
		return // of a beginning that a newer reset has replaced
	}
	l.progress, l.known = p.at, true
	if l.session == nil {
		return
	}
	if p.reset {
		l.session.acks.release(p.at.Pos)
	}
	l.session.acks.stored(now, p.at.Pos)
}

func (l *loop) removeGone() {
	if len(l.gone) == 0 {
		return
	}
	if err := l.c.o.Outbox.Remove(l.gone); err != nil {
		l.fail(fmt.Errorf("remove from the outbox: %w", err))
	}
	l.gone = nil
}

func (l *loop) fail(err error) {
	l.ended, l.failure = true, errors.Join(l.failure, err)
}

func (l *loop) report(s Status) {
	l.c.mu.Lock()
	l.c.status = s
	l.c.mu.Unlock()
	l.c.o.OnStatus(s)
}

func (l *loop) reportOnline() {
	s := Status{State: Online, Host: l.session.host}
	if l.session.held.Failed() {
		s.Held = &RefusedError{Status: l.session.held}
	}
	l.report(s)
}

// shut ends everything that the loop has started, and waits for it. Mail may still come: a handler that waits for history
// or presence is told that there will be none.
func (l *loop) shut() {
	l.receiver.stop()
	l.cancel()
	if l.session != nil {
		l.session.connection.close()
		l.session = nil
	}
	over := make(chan struct{})
	go func() {
		l.helpers.Wait()
		<-l.receiver.ended
		close(over)
	}()
	for {
		l.readMail()
		l.refuseRequests()
		select {
		case <-over:
			return
		case <-l.c.wake:
		}
	}
}

func (l *loop) refuseRequests() {
	l.pulls.finishAll(ErrStopped)
	l.inquiries.finishAll(ErrStopped)
}
