package redisroute

import (
	"testing"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/redistest"
	"lifeline/server/route/routetest"
)

// unhurried is a timeout that a busy machine does not reach. Tests of what a timeout does take the real one.
const unhurried = 30 * time.Second

// world is a table on some servers; opened tables share the options.
type world struct {
	servers []*redistest.Server
	options Options
}

func (w world) Open(tb testing.TB, self route.Self, now func() time.Time) route.Table {
	tb.Helper()
	o := w.options
	o.Self, o.Now = self, now
	if o.Timeout == 0 {
		o.Timeout = unhurried
	}
	t, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = t.Close() })
	return t
}

func (w world) Flush(testing.TB) {
	for _, s := range w.servers {
		s.Do("FLUSHALL")
	}
}

func TestStandalone(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	w := world{[]*redistest.Server{s}, Options{Addrs: []string{s.Addr()}}}
	routetest.Run(t, routetest.Harness{World: func(tb testing.TB) routetest.World {
		w.Flush(tb)
		return w
	}})
}

func TestCluster(t *testing.T) {
	t.Parallel()
	w := startCluster(t)
	routetest.Run(t, routetest.Harness{World: func(tb testing.TB) routetest.World {
		w.Flush(tb)
		return w
	}})
}

func startCluster(t *testing.T) world {
	servers := redistest.StartCluster(t)
	w := world{servers: servers}
	for _, s := range servers {
		w.options.Addrs = append(w.options.Addrs, s.Addr())
	}
	return w
}
