package route_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// docs/routes.md has the figures for a million.
var restSessions = flag.Int("rest-sessions", 20_000, "sessions of TestAtRest")

// What sessions cost the table that do nothing: each is refreshed when a third of the time to live has passed, and the
// passes find nothing to repair.
func TestAtRest(t *testing.T) {
	bubble(t, func(c *cluster) {
		n := *restSessions
		a := c.start("a", 1)
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range n {
			a.Open(fmt.Sprint("user ", i), "phone", 1, 1, 0)
			if i%5000 == 0 {
				pass(time.Second)
			}
		}
		settle()
		due := make([][]uint64, 1200) // seconds of ttl/3
		for i := range n {
			at := rng.IntN(len(due))
			due[at] = append(due[at], uint64(i+1))
		}
		round := func() {
			for _, conns := range due {
				for _, conn := range conns {
					a.Due(conn, false)
				}
				pass(time.Second)
			}
		}
		round()
		written, read, began := a.Written(), a.Read(), time.Now()
		for range 3 {
			round()
		}
		seconds := time.Since(began).Seconds()
		writes, reads := float64(a.Written()-written)/seconds, float64(a.Read()-read)/seconds
		t.Logf("%d sessions at rest: %.1f records written and %.1f read per second", n, writes, reads)

		// A record each third of an hour, and a renewal each five seconds.
		if most := float64(n)/1200*1.01 + 0.3; writes > most {
			t.Errorf("%.1f writes per second, want at most %.1f", writes, most)
		}
		if most := 1.2*float64(n)/270 + 10; reads > most {
			t.Errorf("%.1f reads per second, want at most %.1f", reads, most)
		}
		if counters := a.Counters(); counters.Repaired.Load()+counters.Orphans.Load()+counters.Expired.Load() != 0 {
			t.Error("something was repaired")
		}
		c.whole(n, a)
	})
}
