package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
	"github.com/panjf2000/gnet/v2/pkg/logging"
	"golang.org/x/sys/unix"

	"lifeline/server/liveness"
	"lifeline/server/session"
)

// engine runs the shards of a core on gnet's event loops. It is the only place that knows gnet.
//
// Each loop has its own listening socket (SO_REUSEPORT), so that accept and OnOpen are one step on the loop: a loop that
// is busy accepts nothing, and the cap on connections cannot be outrun into EMFILE, at which gnet ends its engine.
type engine struct {
	gnet.BuiltinEventEngine

	// Set at construction.
	core *Core
	log  *slog.Logger
	up   chan struct{} // closed when the listeners are open

	eng     gnet.Engine // set by OnBoot, before up is closed
	stopped atomic.Bool // Stop was called

	mu    sync.Mutex
	loops map[gnet.EventLoop]*loop // a loop shows itself with its first connection. Guarded by mu.
}

// loop is one of gnet's event loops, as its shard sees it.
type loop struct {
	engine *engine
	shard  *Shard
	el     gnet.EventLoop
}

var errEngineEnded = errors.New("the event loops ended by themselves; live connections are lost, restart the node")

func newEngine(c *Core, log *slog.Logger) *engine {
	return &engine{core: c, log: log, up: make(chan struct{}), loops: make(map[gnet.EventLoop]*loop)}
}

// run listens and serves until stop, and then returns nil. gnet returns nil also when it has given up (after a failed
// accept, for example), so any return that was not asked for is an error.
func (e *engine) run(addrs []string) error {
	err := gnet.Rotate(e, addrs,
		gnet.WithNumEventLoop(e.core.opts.Loops),
		gnet.WithReusePort(true),
		gnet.WithReuseAddr(true),
		gnet.WithSocketSendBuffer(sendBuffer),
		gnet.WithSocketRecvBuffer(receiveBuffer),
		gnet.WithTCPNoDelay(gnet.TCPNoDelay),
		gnet.WithLogger(gnetLog{e.log}),
		gnet.WithLogLevel(logging.WarnLevel),
	)
	switch {
	case err != nil:
		return fmt.Errorf("serve %v: %w", addrs, err)
	case !e.stopped.Load():
		return errEngineEnded
	default:
		return nil
	}
}

// Kernel buffers of an accepted socket: they bound what a connection that does not read costs the kernel.
const (
	sendBuffer    = 16 << 10
	receiveBuffer = 8 << 10
)

// stop closes what is left and ends run.
func (e *engine) stop(ctx context.Context) error {
	e.stopped.Store(true)
	return e.eng.Stop(ctx)
}

// OnBoot implements gnet.EventHandler.
func (e *engine) OnBoot(eng gnet.Engine) gnet.Action {
	e.eng = eng
	close(e.up)
	return gnet.None
}

// OnOpen implements gnet.EventHandler.
func (e *engine) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	l := e.loopOf(c.EventLoop())
	s := l.shard.Open(c)
	if s == nil {
		return nil, gnet.Close
	}
	c.SetContext(s)
	if err := setSocketOptions(c.Fd()); err != nil {
		e.core.complain("a client's socket goes on without its options", err)
	}
	return nil, gnet.None
}

// OnTraffic implements gnet.EventHandler. It consumes everything: one byte left in gnet would cost a connection 1 KB.
func (e *engine) OnTraffic(c gnet.Conn) gnet.Action {
	s, ok := c.Context().(*session.Session)
	data, err := c.Next(-1)
	if !ok || err != nil {
		return gnet.Close
	}
	e.core.shards[s.ID.Loop()].Traffic(s, data)
	return gnet.None
}

// OnClose implements gnet.EventHandler.
func (e *engine) OnClose(c gnet.Conn, err error) gnet.Action {
	if s, ok := c.Context().(*session.Session); ok {
		c.SetContext(nil)
		e.core.shards[s.ID.Loop()].Closed(s, err)
	}
	return gnet.None
}

func (e *engine) loopOf(el gnet.EventLoop) *loop {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.loops[el]
	if l == nil {
		l = &loop{engine: e, shard: e.core.shards[len(e.loops)], el: el}
		e.loops[el] = l
		l.shard.Bind(l)
	}
	return l
}

// Wake implements Loop.
func (l *loop) Wake() bool {
	err := l.el.Execute(context.Background(), l)
	if err != nil && !l.engine.stopped.Load() {
		l.engine.core.complain("an event loop could not be woken; the next tick tries again", err)
	}
	return err == nil
}

// Run implements gnet.Runnable.
func (l *loop) Run(context.Context) error {
	l.shard.Run()
	return nil
}

// Close implements Loop.
func (l *loop) Close(c Conn) { _ = l.el.Close(c.(gnet.Conn)) } // its error is that of a socket that is gone

// ShutWrite implements Loop.
func (l *loop) ShutWrite(c Conn) { _ = unix.Shutdown(c.(gnet.Conn).Fd(), unix.SHUT_WR) } // likewise

// PathInfo implements Loop. What cannot be asked is not known.
func (l *loop) PathInfo(c Conn) liveness.PathInfo {
	fd := c.(gnet.Conn).Fd()
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return liveness.PathInfo{}
	}
	queued, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	if err != nil {
		return liveness.PathInfo{}
	}
	return liveness.PathInfo{Known: true, Queued: queued, Backoff: int(info.Backoff),
		AckAge: time.Duration(info.Last_ack_recv) * time.Millisecond}
}

// gnetLog passes gnet's own lines on.
type gnetLog struct{ log *slog.Logger }

func (g gnetLog) Debugf(f string, a ...any) { g.log.Debug(fmt.Sprintf(f, a...)) }
func (g gnetLog) Infof(f string, a ...any)  { g.log.Debug(fmt.Sprintf(f, a...)) }
func (g gnetLog) Warnf(f string, a ...any)  { g.log.Debug(fmt.Sprintf(f, a...)) }
func (g gnetLog) Errorf(f string, a ...any) { g.log.Warn(fmt.Sprintf(f, a...)) }
func (g gnetLog) Fatalf(f string, a ...any) { g.log.Error(fmt.Sprintf(f, a...)) }
