package servertest

import (
	"bytes"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/server/auth"
	"lifeline/server/liveness"
	"lifeline/server/route"
	"lifeline/store"
	"lifeline/store/memstore"
)

var errPatience = errors.New("nothing came within a minute of virtual time")

// Node is a running node. Its clients and it end with the test.
type Node struct {
	t     testing.TB
	Core  *server.Core
	Mem   *memstore.Store // the store below, for trims and checks
	Set   *metrics.Set
	loops []*loop
}

// Option changes how a node is made.
type Option func(*server.CoreOptions)

// WrapStore puts something between the node and its store, in both directions.
func WrapStore(wrap func(open func(store.Sink) (store.Store, error)) func(store.Sink) (store.Store, error)) Option {
	return func(o *server.CoreOptions) { o.Open = wrap(o.Open) }
}

// Room sets how many connections the node takes.
func Room(connections int) Option {
	return func(o *server.CoreOptions) { o.MaxConnections = connections }
}

// Share has the node take part in a table with others.
func Share(table *route.Memory, node string, incarnation uint64) Option {
	return func(o *server.CoreOptions) {
		o.Routes = &server.RouteOptions{
			Table: func(self route.Self) (route.Table, error) { return table.Table(self, nil), nil },
			Self: func() (route.Self, error) {
				return route.Self{Node: node, Incarnation: incarnation, Directory: node, TTL: time.Hour}, nil
			},
		}
	}
}

// Start runs a node with that many loops and development tokens.
func Start(t testing.TB, loops int, options ...Option) *Node {
	t.Helper()
	n := &Node{t: t, Set: metrics.NewSet()}
	o := server.CoreOptions{
		Loops:          loops,
		Verifier:       auth.Development{},
		Heartbeat:      liveness.DefaultPolicy(),
		MaxConnections: 1000,
		MaxPayload:     protocol.DefaultMaxPayload,
		PushWindow:     64,
		MaxBodyBytes:   16 << 20,
		Metrics:        n.Set,
		Log:            slog.New(slog.DiscardHandler),
		Open: func(sink store.Sink) (store.Store, error) {
			n.Mem = memstore.New(memstore.Options{Sink: sink})
			return n.Mem, nil
		},
	}
	for _, option := range options {
		option(&o)
	}
	core, err := server.NewCore(o)
	if err != nil {
		t.Fatal(err)
	}
	n.Core = core
	for i := range loops {
		n.loops = append(n.loops, newLoop(core.Shard(i)))
	}
	core.StartClock()
	core.StartRoutes(func(err error) { t.Errorf("the node's id: %v", err) })
	t.Cleanup(n.stop)
	return n
}

func (n *Node) stop() {
	if err := n.Core.Close(); err != nil {
		n.t.Errorf("close the node: %v", err)
	}
	for _, l := range n.loops {
		l.stop()
	}
}

// Dial opens a connection on a loop. It returns nil when the node is full.
func (n *Node) Dial(onLoop int) *Client {
	if c := n.knock(onLoop); c.conn.session != nil {
		return c
	}
	return nil
}

// knock is Dial for one who may be turned away, and reads what he is told.
func (n *Node) knock(onLoop int) *Client {
	l := n.loops[onLoop]
	c := &Client{t: n.t, loop: l, arrived: make(chan struct{}, 1)}
	c.conn = &conn{loop: l, client: c}
	l.do(func() {
		if c.conn.session = l.shard.Open(c.conn); c.conn.session == nil {
			c.conn.closed = true
			c.mu.Lock()
			defer c.mu.Unlock()
			c.eofLocked()
		}
	})
	return c
}

// Pause keeps a loop busy until the returned function is called.
func (n *Node) Pause(loop int) (resume func()) {
	gate := make(chan struct{})
	n.loops[loop].tasks <- func() { <-gate }
	return func() { close(gate) }
}

// Counter returns a counter's value by its full name, 0 when it does not exist.
func (n *Node) Counter(name string) int {
	return int(n.Set.GetOrCreateCounter(name).Get())
}

// Login is what a client says in its Connect.
type Login struct {
	User, Device string
	Instance     uint64 // if zero, 1
	Attempt      uint64
	Pos          uint64
	HasPos       bool
	Epoch        store.Epoch
	MaxBacklog   uint64
	Activity     protocol.Activity
	Platform     protocol.Platform
	Token        string // if empty, a development token
	Capabilities uint64
	Duplicates   uint64
}

// Frame is the Connect frame that says so.
func (l Login) Frame() *protocol.Connect {
	if l.Instance == 0 {
		l.Instance = 1
	}
	if l.Token == "" {
		l.Token = "dev:" + l.User
	}
	if l.Activity == 0 {
		l.Activity = protocol.Foreground
	}
	f := &protocol.Connect{Version: protocol.Version, Token: []byte(l.Token), Device: []byte(l.Device), Instance: l.Instance,
		Attempt: l.Attempt, Platform: l.Platform, Activity: l.Activity, MaxPayload: protocol.PayloadCeiling, Pos: l.Pos,
		HasPos: l.HasPos, MaxBacklog: l.MaxBacklog, Capabilities: l.Capabilities, Duplicates: l.Duplicates}
	if l.HasPos {
		f.Epoch = l.Epoch[:]
	}
	return f
}

// Login opens a connection on a loop and logs in.
func (n *Node) Login(onLoop int, l Login) (*Client, *protocol.Connack) {
	n.t.Helper()
	c := n.Dial(onLoop)
	if c == nil {
		n.t.Fatal("the node is full")
	}
	c.Send(l.Frame())
	return c, Expect[*protocol.Connack](c)
}

// Message sends a payload to a user and waits for its Sendack; pushes that come meanwhile stay pending.
func (c *Client) Message(to, clientID, payload string) *protocol.Sendack {
	c.t.Helper()
	c.Post(to, clientID, payload)
	return c.Sendack()
}

// Post sends a payload to a user without waiting.
func (c *Client) Post(to, clientID, payload string) {
	c.requests++
	c.Send(&protocol.Send{ID: c.requests, To: protocol.ToUser, ToID: []byte(to), ClientID: []byte(clientID), Payload: []byte(payload)})
}

// Sendack waits for the next Sendack; other frames that come meanwhile stay pending.
func (c *Client) Sendack() *protocol.Sendack {
	c.t.Helper()
	var others []protocol.Frame
	defer func() {
		c.mu.Lock()
		c.frames = append(others, c.frames...)
		c.mu.Unlock()
	}()
	for {
		f := c.Next()
		if ack, ok := f.(*protocol.Sendack); ok {
			return ack
		}
		others = append(others, f)
	}
}

// Push waits for the next Push and returns its entries.
func (c *Client) Push() []protocol.Entry {
	c.t.Helper()
	return Expect[*protocol.Push](c).Entries
}

// Ack acknowledges a position.
func (c *Client) Ack(pos uint64) {
	c.Send(&protocol.Ack{Pos: pos, HasPos: true})
}

// Idle lets virtual time pass.
func Idle(d time.Duration) { <-time.After(d) }

// Gauge returns a gauge's value by its full name.
func (n *Node) Gauge(name string) float64 { return n.Set.GetOrCreateGauge(name, nil).Get() }

// Line returns the value of one line of the metrics page, by all that stands before it.
func (n *Node) Line(name string) float64 {
	n.t.Helper()
	var page bytes.Buffer
	n.Set.WritePrometheus(&page)
	for line := range strings.Lines(page.String()) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				n.t.Fatalf("%s: %v", line, err)
			}
			return value
		}
	}
	n.t.Fatalf("the page has no line %s", name)
	return 0
}
