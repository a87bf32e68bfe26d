package route_test

import (
	"fmt"
	"testing"
	"time"

	"lifeline/server/route"
)

// Log-ins come faster than a slow table takes them. Others must not go on saying offline of those that wait; and when all
// are written, everybody knows again. A table that keeps up, slow or not, is no reason to doubt.
func TestSlowTable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		call   time.Duration
		storm  int // log-ins at once
		each   int // and then in every second, for a minute
		doubts uint64
	}{
		{"a storm", 5 * time.Millisecond, 20_000, 200, 0},
		{"slow, and a few log-ins", 300 * time.Millisecond, 400, 5, 0},
		{"slow, and as many as it can take", 300 * time.Millisecond, 400, 400, 0},
		{"slow, and a storm", 300 * time.Millisecond, 20_000, 5, 1},
		{"slow, and more than it can take", 300 * time.Millisecond, 20_000, 1000, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(c *cluster) {
				a, b := c.start("a", 1, func(o *route.Options) { o.ReconcileEvery = 1000 * time.Hour }), c.start("b", 2)
				settle()
				doubts, passes := a.Counters().Doubts.Load(), a.Counters().Reconciles.Load()
				a.Slow(tt.call)
				users := crowd(a, "user", tt.storm)
				pass(3 * time.Second)
				if want := (map[bool]route.State{true: route.Recovering, false: route.Healthy})[tt.doubts > 0]; a.Counters().State() != want {
					t.Errorf("a is %v, want %v", a.Counters().State(), want)
				}
				for second := range 60 {
					crowd(a, fmt.Sprint("user of second ", second, ","), tt.each)
					c.neverOffline(time.Second, users, b)
				}
				pass(time.Minute)
				c.whole(tt.storm+60*tt.each, a, b)
				if n := a.Counters().Doubts.Load() - doubts; n != tt.doubts {
					t.Errorf("%d doubts, want %d", n, tt.doubts)
				}
				if n := a.Counters().Reconciles.Load() - passes; n != 0 || a.Counters().Repaired.Load() != 0 {
					t.Errorf("%d passes over sessions that were not lost", n)
				}
			})
		})
	}
}
