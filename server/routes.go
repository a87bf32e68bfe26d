package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lifeline/server/liveness"
	"lifeline/server/route"
	"lifeline/server/session"
)

// RouteOptions say how a node takes part in an online table that it shares with others.
type RouteOptions struct {
	// Self says who this node is and Table opens the table. Both are called once, when the store is open and its
	// directory's lock is held.
	Self      func() (route.Self, error)
	Table     func(route.Self) (route.Table, error)
	Addresses []string      // for other nodes
	Lease     time.Duration // if zero, route's default
	Settle    time.Duration // see route.Options
	Reconcile time.Duration // if zero, route's default
}

// routes joins the core to a shared online table. A node of its own has none: its directory is the whole truth.
type routes struct {
	*route.Registrar
	table   route.Table
	refresh time.Duration // a third of the records' time to live
	cancel  context.CancelFunc
	ended   chan error
}

// openRoutes makes the table and its registrar; start runs it.
func (c *Core) openRoutes(o *RouteOptions) error {
	self, err := o.Self()
	if err != nil {
		return fmt.Errorf("this node's id: %w", err)
	}
	self.ExclusivePlatform = c.opts.ExclusivePlatform
	table, err := o.Table(self)
	if err != nil {
		return fmt.Errorf("open the online table: %w", err)
	}
	r, err := route.NewRegistrar(route.Options{Table: table, Self: self, Host: c, Epoch: fmt.Sprintf("%x", c.epoch), Addresses: o.Addresses,
		Budget: c.opts.MaxConnections, Lease: o.Lease, Settle: o.Settle, ReconcileEvery: o.Reconcile, Log: c.log})
	if err != nil {
		return fmt.Errorf("open the online table: %w", err)
	}
	c.routes = &routes{Registrar: r, table: table, refresh: self.TTL / 3, ended: make(chan error, 1)}
	c.routes.meter(c.opts.Metrics)
	return nil
}

// StartRoutes begins to register, if the node shares a table. fatal is called when the node's id belongs to another
// process.
func (c *Core) StartRoutes(fatal func(error)) {
	r := c.routes
	if r == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() {
		err := r.Run(ctx)
		if err != nil && ctx.Err() == nil && fatal != nil {
			fatal(err)
		}
		r.ended <- err
	}()
}

// awaitRoutes waits until the table has told of other nodes, or is known not to answer, which takes it two seconds at most.
// Sends of clients that come before could be stored beside another node's store.
func (c *Core) awaitRoutes(ctx context.Context) {
	if c.routes == nil {
		return
	}
	select {
	case <-c.routes.Asked():
	case <-ctx.Done():
	}
}

// announceStop tells other nodes that this one sends its clients away. Nothing waits for it.
func (c *Core) announceStop() {
	if c.routes != nil {
		c.routes.Announce(route.NodeDraining, 0)
	}
}

// stopRoutes says goodbye to the table.
func (c *Core) stopRoutes() {
	r := c.routes
	if r == nil || r.cancel == nil {
		return
	}
	r.cancel()
	if err := <-r.ended; err != nil && !errors.Is(err, route.ErrNodeTaken) {
		c.log.Warn("the online table keeps this node's lease until it lapses", "err", err)
	}
	if err := r.table.Close(); err != nil {
		c.log.Warn("the online table did not close", "err", err)
	}
}

// register puts a new session on its way into the table, once. Nothing waits for it.
func (sh *Shard) register(s *session.Session) {
	if r := sh.core.routes; r != nil && !s.Has(session.Routed) {
		s.Set(session.Routed)
		sh.plan(s).RouteDue = sh.clock.Now().Add(r.refresh)
		r.Registered(sh.routeSession(s))
	}
}

// unregister takes a session out again; it names the connection, so a newer one's record stays.
func (sh *Shard) unregister(s *session.Session) {
	if s.Has(session.Routed) {
		s.Clear(session.Routed)
		sh.core.routes.Removed(string(sh.users.User(s)), string(sh.users.Device(s)), uint64(s.ID))
	}
}

// refreshRoute rewrites the record when a third of its time has passed, or when changed says that it says the wrong
// thing about the device.
func (sh *Shard) refreshRoute(s *session.Session, now liveness.Time, changed bool) {
	if s.Has(session.Routed) && (changed || !now.Before(sh.plan(s).RouteDue)) {
		sh.plan(s).RouteDue = now.Add(sh.core.routes.refresh)
		sh.core.routes.Refreshed(sh.routeSession(s))
	}
}

func (sh *Shard) routeSession(s *session.Session) route.Session {
	return route.Session{User: string(sh.users.User(s)), Device: string(sh.users.Device(s)), ConnID: uint64(s.ID),
		Instance: s.Instance, Attempt: uint64(s.Attempt), Order: s.Order, Platform: s.Platform, Suspect: s.Line.Marked() || suspending(s),
		Started: sh.core.started.Add(time.Duration(s.Order)), Seen: time.Now().Add(-sh.clock.Now().Sub(s.LastIn))}
}

// Walk implements route.Host. A cursor is loop and slot. A loop without sessions is passed over.
func (c *Core) Walk(cursor uint64, n int, reply func([]route.Session, uint64)) {
	loop, slot := c.heard(int(cursor>>32)), uint32(cursor)
	if loop == len(c.shards) {
		reply(nil, 0)
		return
	}
	sh := c.shards[loop]
	sh.post(func() {
		list, next := sh.walk(slot, n)
		after := uint64(c.heard(loop+1)) << 32
		switch {
		case next != 0:
			reply(list, uint64(loop)<<32|uint64(next))
		case int(after>>32) == len(c.shards):
			reply(list, 0)
		case len(list) == 0:
			c.Walk(after, n, reply)
		default:
			reply(list, after)
		}
	})
}

// heard returns the first loop from one on that hears what is posted. Others have never had a connection.
func (c *Core) heard(loop int) int {
	for loop < len(c.shards) && !c.shards[loop].mail.bound() {
		loop++
	}
	return min(loop, len(c.shards))
}

// walk lists registered sessions from a slot on. next is 0 at the end.
func (sh *Shard) walk(slot uint32, n int) (list []route.Session, next uint32) {
	for ; slot < sh.slab.Slots(); slot++ {
		if len(list) == n {
			return list, slot
		}
		if s := sh.slab.At(slot); s.Has(session.Routed) {
			list = append(list, sh.routeSession(s))
		}
	}
	return list, 0
}

// Holds implements route.Host.
func (c *Core) Holds(ids []uint64, reply func([]bool)) {
	held := make([]bool, len(ids))
	c.holdsFrom(0, ids, held, reply)
}

// holdsFrom asks one loop after the other.
func (c *Core) holdsFrom(loop int, ids []uint64, held []bool, reply func([]bool)) {
	if loop = c.heard(loop); loop == len(c.shards) {
		reply(held)
		return
	}
	sh := c.shards[loop]
	sh.post(func() {
		for i, id := range ids {
			if s := sh.slab.Get(session.ConnID(id)); s != nil && s.Has(session.Routed) {
				held[i] = true
			}
		}
		c.holdsFrom(loop+1, ids, held, reply)
	})
}

// Displaced implements route.Host.
func (c *Core) Displaced(conn uint64, v route.Verdict) {
	id := session.ConnID(conn)
	if id.Loop() < len(c.shards) {
		c.shards[id.Loop()].mail.post(answer{kind: answerLost, conn: id, any: session.Verdict(v)})
	}
}
