package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route/redistest"
)

// TestASecondNodeStoresNothing: a node whose store has another history than that of one that serves already knows so before
// its first client comes, however slow Redis is: its very first Send is refused.
func TestASecondNodeStoresNothing(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	proxy := redistest.StartProxy(t, redis.Addr())
	leaseholder(t, longLease, "a", redis.Addr())
	until(t, "the first node has its lease", func() bool { return redis.Do("EXISTS", "ll:node:a") == "1" })
	proxy.Slow(100 * time.Millisecond)
	tries := 0
	until(t, "a second node starts, and no call of Redis takes too long", func() bool {
		tries++
		b := leaseholder(t, longLease, fmt.Sprint("b", tries), proxy.Addr())
		defer b.kill()
		bob := login(t, b.addr, "bob", "phone")
		ack := bob.message("bob", "x")
		if b.metric("lifeline_route_errors_total") > 0 {
			return false // it may have begun as a lone node
		}
		if ack.Status.Code != protocol.CodeNotHere || ack.Status.Retry != protocol.RetryAfter {
			t.Fatalf("the first Send to a second node: %s", ack.AppendText(nil))
		}
		if head := headOf(t, b, "bob"); head != 0 {
			t.Errorf("%d entries are stored", head)
		}
		return true
	})
}

// TestStartWithoutRedis: a node starts and serves whatever Redis does, and takes part in the table when it can. Of other
// nodes it knows nothing until then, so it stores what its clients send.
func TestStartWithoutRedis(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			proxy := redistest.StartProxy(t, redis.Addr())
			f.begin(redis, proxy)
			a := member(t, "a", proxy.Addr())
			ann := login(t, a.addr, "ann", "phone")
			if ack := ann.message("ann", "to myself"); ack.Status.Failed() {
				t.Errorf("a Send without a table: %s", ack.AppendText(nil))
			}
			if got := ann.ask("ann", "bob"); got["ann"] != protocol.Online || got["bob"] != protocol.PresenceUnknown {
				t.Errorf("without a table: %v", got)
			}
			f.end(redis, proxy)
			healthy(t, a)
			until(t, "ann is in the table", func() bool { return routesIn(redis) == 1 })
			ann.leave()
		})
	}
}

// TestAnEvictingRedisIsToldOf: once, in a line that says what to do.
func TestAnEvictingRedisIsToldOf(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	a := member(t, "a", redis.Addr())
	healthy(t, a)
	doubts := a.metric("lifeline_route_doubts_total")
	redis.Do("FLUSHALL")
	until(t, "the node has noticed", func() bool { return a.metric("lifeline_route_doubts_total") > doubts })
	until(t, "it was said", func() bool { return strings.Contains(a.said(), "set maxmemory-policy noeviction") })
	healthy(t, a)
	if n := strings.Count(a.said(), "set maxmemory-policy noeviction"); n != 1 {
		t.Errorf("it was said %d times:\n%s", n, a.said())
	}
}
