package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/server/admin"
	"lifeline/server/config"
	"lifeline/store"
)

// Options of a [Node].
type Options struct {
	Config config.Config // resolved and valid
	// Open opens the store; what it commits goes to the sink. It holds the data directory's lock when it returns.
	Open func(sink store.Sink) (store.Store, error)
	// Routes is the online table that this node shares with others; nil = it is alone.
	Routes *RouteOptions
	// MaySee says whether the asker may know of a user's presence; nil = everybody may. It is called from several goroutines.
	MaySee func(asker, user string) bool
	// Metrics is the set the node registers on; the store may share it.
	Metrics *metrics.Set
	Log     *slog.Logger
}

// Node is a whole server: the core on event loops, and its HTTP listener.
type Node struct {
	// Set at construction.
	opts   Options
	core   *Core
	engine *engine
	within time.Duration // clients have to read their Close when the node stops

	serving atomic.Bool // between the start of the listeners and the stop
}

// New opens the store and starts what does not need a socket.
func New(o Options) (*Node, error) {
	verifier, err := o.Config.Auth.Verifier()
	if err != nil {
		return nil, err
	}
	core, err := NewCore(CoreOptions{
		Loops:            o.Config.Loops,
		Open:             o.Open,
		Verifier:         verifier,
		Heartbeat:        o.Config.Heartbeat.Policy,
		MaxConnections:   o.Config.MaxConnections,
		MaxPayload:       int(o.Config.MaxPayload),
		PushWindow:       o.Config.PushWindow,
		MaxBodyBytes:     int64(o.Config.MaxBodyBytes),
		MaxOutboundBytes: int64(o.Config.MaxOutboundBytes),
		Hosts:            o.Config.Hosts,
		Routes:           o.Routes,
		MaySee:           o.MaySee,
		Metrics:          o.Metrics,

		ExclusivePlatform: o.Config.Exclusive == config.ExclusivePlatform,
		Log:               o.Log,
	})
	if err != nil {
		return nil, err
	}
	return &Node{opts: o, core: core, engine: newEngine(core, o.Log), within: stopWithin}, nil
}

// stopWithin is how long anybody waits for a loop or a client at the end.
const stopWithin = 5 * time.Second

// Run serves until ctx ends, then tells every client to come back, closes, and returns nil. It returns an error when the
// node could not start or its event loops ended by themselves. It is called once.
func (n *Node) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, n.core.Close()) }()
	if err := testBind(n.opts.Config.Listen); err != nil {
		return err
	}
	stopHTTP, err := n.serveHTTP()
	if err != nil {
		return err
	}
	defer stopHTTP()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	n.core.StartRoutes(func(err error) { fail(fmt.Errorf("the node's id in the online table: %w", err)) })
	if n.core.awaitRoutes(ctx); ctx.Err() != nil {
		return stopped(ctx)
	}
	ended := make(chan error, 1)
	go func() { ended <- n.engine.run(n.opts.Config.Listen) }()
	select {
	case err := <-ended:
		return err
	case <-n.engine.up:
	}
	n.core.StartClock()
	stopTuning := make(chan struct{})
	defer close(stopTuning)
	go n.core.tuneGC(stopTuning)
	n.serving.Store(true)
	defer n.serving.Store(false)
	n.opts.Log.Info("serving", "listen", n.opts.Config.Listen, "http", n.opts.Config.HTTP, "loops", n.opts.Config.Loops,
		"max_connections", n.opts.Config.MaxConnections)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	return errors.Join(stopped(ctx), n.stop(), <-ended)
}

// stopped is why a node ends when ctx has ended, nil if it was told to.
func stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// serveHTTP starts the operators' listener, if there is to be one.
func (n *Node) serveHTTP() (stop func(), err error) {
	if n.opts.Config.HTTP == "" {
		return func() {}, nil
	}
	srv, err := admin.New(admin.Options{Address: n.opts.Config.HTTP, Sets: []*metrics.Set{n.opts.Metrics},
		Debug: n.core.debugHandler(), Ready: n.ready, Log: n.opts.Log})
	if err != nil {
		return nil, err
	}
	return func() { _ = srv.Close() }, nil
}

// ready says why the node should get no new clients. Load alone is no reason: it would move the load, not end it.
func (n *Node) ready() error {
	if !n.serving.Load() {
		return errors.New("starting or stopping")
	}
	return nil
}

// stop closes the sessions politely and then the event loops, however long those take with what is left.
func (n *Node) stop() error {
	n.serving.Store(false)
	n.opts.Log.Info("stopping", "sessions", n.core.Sessions())
	n.core.announceStop()
	n.core.CloseSessions()
	ctx, cancel := context.WithTimeout(context.Background(), n.within)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for n.core.Connections() > 0 && ctx.Err() == nil {
		select {
		case <-poll.C:
		case <-ctx.Done():
		}
	}
	if err := n.engine.stop(context.Background()); err != nil {
		return fmt.Errorf("stop the event loops: %w", err)
	}
	return nil
}
