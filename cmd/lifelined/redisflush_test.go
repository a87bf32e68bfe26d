package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route/redistest"
)

// crowd logs in many devices of users "user-%08d" on a node, from a process of their own, and waits for all.
func crowd(t testing.TB, n *node, count int) {
	t.Helper()
	begun := time.Now()
	d := child(t, "dialler", "", n.addr, strconv.Itoa(count))
	within(t, crowdPatience, "the crowd is connected", func() bool {
		select {
		case <-d.ended:
			t.Fatalf("the dialler ended: %s", d.said())
		default:
		}
		return strings.Contains(d.said(), fmt.Sprint("holding ", count))
	})
	t.Logf("%d log-ins in %v", count, time.Since(begun).Round(time.Millisecond))
}

// sample is some users of a crowd, from all over it.
func sample(count int) (users []string) {
	const most = 40
	for i := range most {
		users = append(users, fmt.Sprintf("user-%08d", i*(count-1)/(most-1)))
	}
	return users
}

// watch asks for users until all are online, and fails when one is called offline. It returns how often it could not be told.
func (l *line) watch(users []string) (unknowns int) {
	l.t.Helper()
	until(l.t, "the whole sample is online", func() bool {
		online := 0
		for user, state := range l.ask(users...) {
			switch state {
			case protocol.Offline:
				l.t.Fatalf("%s is said to be offline", user)
			case protocol.Online:
				online++
			default:
				unknowns++
			}
		}
		return online == len(users)
	})
	return unknowns
}

// routesIn counts the users in the table.
func routesIn(redis *redistest.Server) (n int) {
	cursor := "0"
	for {
		reply := strings.Split(redis.Do("SCAN", cursor, "MATCH", "ll:route:*", "COUNT", "5000"), "\n")
		for _, key := range reply[1:] {
			if key != "" {
				n++
			}
		}
		if cursor = reply[0]; cursor == "0" {
			return n
		}
	}
}

// TestRedisEmptiedUnderACrowd: after FLUSHALL nobody is called offline until the table is whole, it becomes whole, and
// no session notices.
func TestRedisEmptiedUnderACrowd(t *testing.T) {
	t.Parallel()
	count := *testSessions
	users := sample(count)
	redis := redistest.Start(t)
	a, b := twins(t, redis.Addr(), append(users, "cid")...)
	healthy(t, a, b)
	ann := login(t, a.addr, "ann", "phone")
	crowd(t, b, count)
	until(t, "all are in the table", func() bool { return routesIn(redis) == count+1 })
	for range 3 {
		redis.Do("FLUSHALL")
		emptied := time.Now()
		unknowns := ann.watch(users)
		until(t, "all are in the table again", func() bool { return routesIn(redis) == count+1 })
		whole := time.Since(emptied)
		healthy(t, a, b)
		until(t, "who is nowhere is offline again", func() bool { ann.watch(users); return ann.says("cid", protocol.Offline) })
		t.Logf("all routes are back after %v, all is proven after %v; %d answers were unknown",
			whole.Round(time.Millisecond), time.Since(emptied).Round(time.Millisecond), unknowns)
	}
	if repaired := b.metric("lifeline_routes_repaired_total"); repaired < float64(count) {
		t.Errorf("%v repairs", repaired)
	}
	if n := b.metric("lifeline_sessions"); n != float64(count) {
		t.Errorf("%v sessions are left of %d", n, count)
	}
	ann.ping()
}

// TestLoginsWithoutRedis: a crowd that comes while Redis is dead gets in, and into the table when Redis is back.
func TestLoginsWithoutRedis(t *testing.T) {
	t.Parallel()
	count := *testSessions
	users := sample(count)
	redis := redistest.Start(t)
	a, b := twins(t, redis.Addr(), users...)
	healthy(t, a, b)
	redis.Kill()
	until(t, "both nodes have noticed", func() bool { return !a.healthy() && !b.healthy() })
	ann := login(t, a.addr, "ann", "phone")
	crowd(t, b, count)
	if n := b.metric("lifeline_sessions"); n != float64(count) {
		t.Fatalf("%v sessions of %d", n, count)
	}
	for user, state := range ann.ask(users...) {
		if state != protocol.PresenceUnknown {
			t.Errorf("without a table %s is %v", user, state)
		}
	}
	redis.Restart()
	ann.watch(users)
	until(t, "all are in the table", func() bool { return routesIn(redis) == count+1 })
	if n := b.metric("lifeline_sessions"); n != float64(count) {
		t.Errorf("%v sessions are left of %d", n, count)
	}
}
