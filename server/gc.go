package server

import (
	"os"
	"runtime/debug"
	"time"
)

// gcPercent is how far the heap may grow between collections, given the connections. With few of them a collection is
// cheap and its headroom small, and garbage from messages would make it frequent; with many, headroom is what a
// connection costs beside its own bytes, and collections stay rare because the hot paths make little garbage.
func gcPercent(connections int) int {
	switch {
	case connections < 5_000:
		return 100
	case connections < 50_000:
		return 50
	case connections < 200_000:
		return 25
	default:
		return 16
	}
}

// gcEvery is how often the percentage follows the connections.
const gcEvery = 5 * time.Second

// tuneGC follows gcPercent until stop, unless the operator has set GOGC.
func (c *Core) tuneGC(stop <-chan struct{}) {
	if os.Getenv("GOGC") != "" {
		return
	}
	now := gcPercent(0)
	debug.SetGCPercent(now)
	t := time.NewTicker(gcEvery)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			if want := gcPercent(c.Connections()); want != now {
				debug.SetGCPercent(want)
				if want < now {
					debug.FreeOSMemory() // or the log-ins' garbage stays until the next collection, which may be far
				}
				now = want
			}
		}
	}
}
