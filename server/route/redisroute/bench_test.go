package redisroute

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/redistest"
)

// What BenchmarkAtRest takes by hand.
var (
	restSessions = flag.Int("rest-sessions", 15_000, "sessions of BenchmarkAtRest")
	restTime     = flag.Duration("rest-time", 15*time.Minute, "how long BenchmarkAtRest watches: three periods of reconcile")
)

// fill puts sessions of users of one device each into a table.
func fill(b *testing.B, table route.Table, n int) []string {
	users := make([]string, n)
	var batch []route.Session
	for i := range users {
		users[i] = fmt.Sprint("user ", i)
		batch = append(batch, route.Session{User: users[i], Device: "phone", ConnID: uint64(i + 1), Started: time.Now(), Seen: time.Now()})
	}
	for chunk := range slices.Chunk(batch, route.MaxBatch) {
		if _, err := table.Register(context.Background(), chunk); err != nil {
			b.Fatal(err)
		}
	}
	return users
}

func benchTable(b *testing.B) route.Table {
	server := redistest.Start(b)
	return world{options: Options{Addrs: []string{server.Addr()}}}.Open(b, route.Self{Node: "a", Incarnation: 1, TTL: time.Hour}, time.Now)
}

// The members of a large group, in one round trip.
func BenchmarkLookup500(b *testing.B) {
	table := benchTable(b)
	users := fill(b, table, 15_000)
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		at := rand.IntN(len(users) - route.MaxBatch)
		began := time.Now()
		l, err := table.Lookup(context.Background(), users[at:at+route.MaxBatch])
		if err != nil || len(l.Records) != route.MaxBatch {
			b.Fatal(len(l.Records), err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkRegister is what a storm of log-ins costs, per record; BenchmarkRefresh what a session at rest does.
func BenchmarkRegister(b *testing.B) {
	table := benchTable(b)
	fill(b, table, max(b.N, 1))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkRefresh(b *testing.B) {
	table := benchTable(b)
	fill(b, table, route.MaxBatch)
	batch := make([]route.Session, route.MaxBatch)
	for i := range batch {
		batch[i] = route.Session{User: fmt.Sprint("user ", i), Device: "phone", ConnID: uint64(i + 1), Seen: time.Now()}
	}
	b.ResetTimer()
	for n := 0; n < b.N; n += len(batch) {
		if found, err := table.Refresh(context.Background(), batch); err != nil || found[0] != route.Ours {
			b.Fatal(found[0], err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// What a node costs its server when nothing happens; it takes a quarter of an hour: refreshes, leases, and the passes of reconcile and scan.
func BenchmarkAtRest(b *testing.B) {
	server := redistest.Start(b)
	m := start(b, Options{Addrs: []string{server.Addr()}, Timeout: unhurried}, "a", 1, func(o *route.Options) { o.Lease = route.DefaultLease })
	for i := range *restSessions {
		m.Open(fmt.Sprint("user ", i), "phone", 1, 1, 0)
	}
	m.until(route.Healthy)
	rate := float64(*restSessions) / 1200 // a third of an hour each
	before, began := usage(b, server), time.Now()
	done := 0
	for tick := time.NewTicker(100 * time.Millisecond); time.Since(began) < *restTime; <-tick.C {
		for ; float64(done) < time.Since(began).Seconds()*rate; done++ {
			m.Due(uint64(done%*restSessions+1), false)
		}
	}
	after, seconds := usage(b, server), time.Since(began).Seconds()
	for unit, name := range map[string]string{"scripts/s": "evalsha", "commands/s": "all", "writes/s": "hset"} {
		b.ReportMetric((after[name]-before[name])/seconds, unit)
	}
	b.ReportMetric(100*(after["cpu"]-before["cpu"])/seconds, "redis-cpu-%")
	b.ReportMetric(after["memory"]/float64(*restSessions), "B/record")
}

// usage reads the server's counters.
func usage(b *testing.B, s *redistest.Server) map[string]float64 {
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	u := map[string]float64{
		"all":    number(s.Info("stats", "total_commands_processed")),
		"cpu":    number(s.Info("cpu", "used_cpu_user")) + number(s.Info("cpu", "used_cpu_sys")),
		"memory": number(s.Info("memory", "used_memory_dataset")),
	}
	for _, name := range []string{"evalsha", "hset"} {
		text, _, _ := strings.Cut(strings.TrimPrefix(s.Info("commandstats", "cmdstat_"+name), "calls="), ",")
		u[name] = number(text)
	}
	return u
}
