package loadtest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/panjf2000/gnet/v2"
	"github.com/panjf2000/gnet/v2/pkg/logging"
)

// engine runs one loop on an event loop of gnet. It is the only place that knows gnet.
//
// Each loop has a client of its own, so that a scenario says which devices share a loop.
type engine struct {
	gnet.BuiltinEventEngine

	// Set at construction.
	loop   *loop
	client *gnet.Client

	ticking atomic.Bool // a tick waits for the loop

	mu sync.Mutex
	el gnet.EventLoop // shows itself with the first connection. Written once, by the loop. Guarded by mu.
}

// startEngine starts a loop.
func startEngine(l *loop) (*engine, error) {
	e := &engine{loop: l}
	client, err := gnet.NewClient(e,
		gnet.WithNumEventLoop(1),
		gnet.WithTCPNoDelay(gnet.TCPNoDelay),
		gnet.WithLogger(silence{}),
		gnet.WithLogLevel(logging.ErrorLevel),
	)
	if err != nil {
		return nil, fmt.Errorf("make an event loop: %w", err)
	}
	e.client = client
	if err := client.Start(); err != nil {
		return nil, fmt.Errorf("start an event loop: %w", err)
	}
	return e, nil
}

// stop closes what is left and waits for the loop's end. Its error is that of a loop that had ended by itself.
func (e *engine) stop() error { return e.client.Stop() }

// enroll gives a dialled connection to the loop, which calls opened. Any goroutine; conn is not the caller's any more.
func (e *engine) enroll(c net.Conn, d *device) error {
	if _, err := e.client.EnrollContext(c, d); err != nil {
		return err
	}
	if !d.enrolled { // nobody else writes it, and enrolling waits for the loop
		return fmt.Errorf("the event loop could not watch the connection")
	}
	return nil
}

// post calls f on the loop, some time. Before the first connection there is nothing on the loop, and f is called at once.
// Any other goroutine.
func (e *engine) post(f func()) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.el == nil {
		f()
		return nil
	}
	return e.el.Execute(context.Background(), task(f))
}

// tick calls the loop's tick on the loop, unless one is waiting already. Any other goroutine.
func (e *engine) tick() {
	if !e.ticking.CompareAndSwap(false, true) {
		return
	}
	err := e.post(func() {
		e.ticking.Store(false)
		e.loop.tick()
	})
	if err != nil { // the loop has ended, and stop will say why
		e.ticking.Store(false)
	}
}

type task func()

// Run implements gnet.Runnable.
func (t task) Run(context.Context) error {
	t()
	return nil
}

// OnOpen implements gnet.EventHandler.
func (e *engine) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	if e.el == nil {
		e.mu.Lock()
		e.el = c.EventLoop()
		e.mu.Unlock()
	}
	e.loop.opened(c.Context().(*device), c)
	return nil, gnet.None
}

// OnTraffic implements gnet.EventHandler. It consumes everything: one byte left in gnet would cost a connection 1 KB.
func (e *engine) OnTraffic(c gnet.Conn) gnet.Action {
	d, ok := c.Context().(*device)
	data, err := c.Next(-1)
	if !ok || err != nil || !e.loop.arrived(d, data) {
		return gnet.Close
	}
	return gnet.None
}

// OnClose implements gnet.EventHandler.
func (e *engine) OnClose(c gnet.Conn, err error) gnet.Action {
	if d, ok := c.Context().(*device); ok {
		e.loop.closed(d, err)
	}
	return gnet.None
}

// silence drops gnet's own lines. What they tell of connections the report tells, and the rest stop returns.
type silence struct{}

func (silence) Debugf(string, ...any) {}
func (silence) Infof(string, ...any)  {}
func (silence) Warnf(string, ...any)  {}
func (silence) Errorf(string, ...any) {}
func (silence) Fatalf(string, ...any) {}
