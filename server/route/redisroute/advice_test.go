package redisroute

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/redistest"
)

// TestAdvice: an operator is told of a server that evicts; one that refuses to tell is used all the same.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what  string
		setup []string
		want  string // in the log
	}{
		{"as it should be", []string{"CONFIG", "SET", "maxmemory-policy", "noeviction"}, ""},
		{"evicts", []string{"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"}, `level=WARN msg="the online table may lose routes" do="set maxmemory-policy noeviction; with allkeys-lru`},
		{"evicts what expires", []string{"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"}, "with volatile-ttl"},
		{"refuses to tell", []string{"ACL", "SETUSER", "default", "-info", "-config"}, `level=INFO msg="the online table does not tell`},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			server.Do(tt.setup...)
			var log bytes.Buffer
			m := start(t, Options{Addrs: []string{server.Addr()}, Timeout: unhurried}, "a", 1, func(o *route.Options) {
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
			})
			m.Open("alice", "phone", 1, 1, 0)
			m.eventually("alice", "online")
			m.eventually("nobody", "offline")
			m.kill()
			var said []string
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "may lose routes") || strings.Contains(line, "set up") {
					said = append(said, line)
				}
			}
			switch {
			case tt.want == "" && len(said) > 0, tt.want != "" && (len(said) != 1 || !strings.Contains(said[0], tt.want)):
				t.Errorf("it said %q, want %q", said, tt.want)
			}
		})
	}
}

// TestAdviceOfACluster: one server that evicts is enough.
func TestAdviceOfACluster(t *testing.T) {
	t.Parallel()
	w := startCluster(t)
	table := w.Open(t, route.Self{Node: "a", Incarnation: 1, TTL: time.Hour}, time.Now)
	for _, policy := range []string{noEviction, "allkeys-random"} {
		w.servers[2].Do("CONFIG", "SET", "maxmemory-policy", policy)
		if advice, err := table.Advice(t.Context()); err != nil || strings.Contains(advice, policy) != (policy != noEviction) || advice == "" != (policy == noEviction) {
			t.Errorf("%s: %q, %v", policy, advice, err)
		}
	}
}
