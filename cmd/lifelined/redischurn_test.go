package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route"
	"lifeline/server/route/redistest"
)

// roamer is a phone that reconnects again and again, to any node, and mostly lets go of a connection late or never.
type roamer struct {
	user    string
	rng     *rand.Rand
	attempt uint64
	held    []net.Conn // the newest is the last
	at      *node
}

// roam makes one connection more. What becomes of the last one is seen by its node before, while or after the new one is
// registered, for nothing waits for it.
func (r *roamer) roam(nodes []*node) error {
	if n := len(r.held); n > 0 && r.rng.IntN(4) == 0 {
		_ = r.held[n-1].Close()
	}
	r.attempt++
	r.at = nodes[r.rng.IntN(len(nodes))]
	conn, err := net.DialTimeout("tcp4", r.at.addr, patience)
	if err != nil {
		return err
	}
	r.held = append(r.held, conn)
	f := connect(r.user, "phone")
	f.Attempt = r.attempt
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write(f.Append(nil)); err != nil {
		return err
	}
	got, err := readFrame(bufio.NewReader(conn))
	if err != nil {
		return err
	}
	if got.Type() != protocol.TypeConnack {
		return fmt.Errorf("%s, attempt %d: %s", r.user, r.attempt, got.AppendText(nil))
	}
	if n := len(r.held); n > 1 && r.rng.IntN(2) == 0 {
		_ = r.held[n-2].Close()
	}
	return nil
}

// leave lets go of every connection.
func (r *roamer) leave() {
	for _, conn := range r.held {
		_ = conn.Close()
	}
	r.held = nil
}

// place is what the table has to have of the roamer: node and attempt, "" = nothing.
func (r *roamer) place() string {
	if len(r.held) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %x", r.at.name(), r.attempt)
}

func (n *node) name() string { return n.cmd.Args[slices.Index(n.cmd.Args, "--node")+1] }

// placeIn is what it has.
func placeIn(redis *redistest.Server, user string) string {
	reply := redis.Do("HGETALL", fmt.Sprintf("ll:route:{%d}:%s", route.Bucket(user), user))
	device, value, _ := strings.Cut(reply, "\n")
	fields := strings.Split(value, "|")
	if device != "phone" || len(fields) != 11 {
		return reply
	}
	return fields[1] + " " + strings.TrimLeft(fields[4], "0")
}

// TestRoamingPhones: 10,000 times a phone reconnects to one node, or to either of two processes, while its old connection
// ends before, meanwhile, later or never. In the end the table has the newest connection of each phone that has not left,
// and nothing else, and those connections live: what cleans up an old one has never removed, and no late registration has
// replaced, a newer one.
func TestRoamingPhones(t *testing.T) {
	const phones, reconnects, workers = 500, 20, 10
	for _, names := range [][]string{{"a"}, {"a", "b"}} {
		t.Run(fmt.Sprintf("%d nodes", len(names)), func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			var nodes []*node
			for _, name := range names {
				nodes = append(nodes, member(t, name, redis.Addr()))
			}
			healthy(t, nodes...)
			all := make([]*roamer, phones)
			var wg sync.WaitGroup
			for i := range all {
				all[i] = &roamer{user: fmt.Sprint("user ", i), rng: rand.New(rand.NewPCG(uint64(i), uint64(len(names))))}
			}
			t.Cleanup(func() {
				for _, r := range all {
					r.leave()
				}
			})
			for w := range workers {
				wg.Go(func() {
					for range reconnects {
						for i := w; i < phones; i += workers {
							if err := all[i].roam(nodes); err != nil {
								t.Error(err)
								return
							}
						}
					}
				})
			}
			wg.Wait()
			if t.Failed() {
				return
			}
			stay := 0
			for i, r := range all {
				if i%2 == 0 {
					r.leave()
				} else {
					stay++
				}
			}
			until(t, "the table has the newest connections", func() bool {
				return routesIn(redis) == stay && !slices.ContainsFunc(all, func(r *roamer) bool { return placeIn(redis, r.user) != r.place() })
			})
			until(t, "the sessions that have lost their place are closed", func() bool {
				sessions := 0.0
				for _, n := range nodes {
					sessions += n.metric("lifeline_sessions")
				}
				return sessions == float64(stay)
			})
			for _, r := range all {
				if len(r.held) > 0 {
					l := &line{t: t, conn: r.held[len(r.held)-1]}
					l.r = bufio.NewReader(l.conn)
					l.ping()
				}
			}
		})
	}
}
