package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lifeline/loadtest"
	"lifeline/server/route/redistest"
)

// What the benchmarks of the online table take by hand. They take minutes, compare as often as they are told and need a machine of their own; a table for each is logged, and
// docs/routes.md says how to read it.
var (
	benchPairs    = flag.Int("pairs", 6, "pairs of runs that are compared, in turn")
	benchSessions = flag.Int("sessions", 15_000, "sessions that log in, or under which Redis is emptied")
	benchTime     = flag.Duration("time", 6*time.Second, "how long each run of messages lasts")
)

// metric returns the sum of what a server exports under a name, with or without labels.
func (s *server) metric(tb testing.TB, name string) (sum float64) {
	tb.Helper()
	res, err := http.Get("http://" + s.http + "/metrics")
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		full, value, _ := strings.Cut(lines.Text(), " ")
		if base, _, _ := strings.Cut(full, "{"); full == name || base == name {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				tb.Fatal(err)
			}
			sum += v
		}
	}
	return sum
}

// reaches waits until a metric has a value at least, and returns how long it took.
func (s *server) reaches(tb testing.TB, name string, least float64) time.Duration {
	tb.Helper()
	for began := time.Now(); ; <-time.After(20 * time.Millisecond) {
		switch took := time.Since(began); {
		case s.metric(tb, name) >= least:
			return took
		case took > 2*time.Minute:
			tb.Fatalf("%s does not reach %v", name, least)
		}
	}
}

const (
	sessionsMetric   = "lifeline_sessions"
	registeredMetric = `lifeline_route_writes_total{what="registered"}`
	repairedMetric   = "lifeline_routes_repaired_total"
	doubtsMetric     = "lifeline_route_doubts_total"
	healthyMetric    = `lifeline_route_breaker_state{state="healthy"}`
	degradedMetric   = `lifeline_route_breaker_state{state="degraded"}`
)

// cpu is the time that a server has computed, to ten milliseconds.
func (s *server) cpu(tb testing.TB) time.Duration {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	var ticks int
	for _, field := range strings.Fields(rest)[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			tb.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

func redisCPU(tb testing.TB, redis *redistest.Server) time.Duration {
	tb.Helper()
	var seconds float64
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		n, err := strconv.ParseFloat(redis.Info("cpu", name), 64)
		if err != nil {
			tb.Fatal(err)
		}
		seconds += n
	}
	return time.Duration(seconds * float64(time.Second))
}

func median[T time.Duration | float64](values []T) T {
	values = slices.Sorted(slices.Values(values))
	return (values[len(values)/2] + values[(len(values)-1)/2]) / 2
}

// storm logs in many devices and holds them until the returned function is called; rate is log-ins a second.
func storm(b *testing.B, s *server) (rate float64, end func()) {
	b.Helper()
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(b.Context())
	began := time.Now()
	wg.Go(func() {
		// Ended by the benchmark, so it fails; what it says is of no use then.
		call(ctx, s.addr, "idle", "--connections", fmt.Sprint(*benchSessions), "--rate", "0", "--hold", "1h", "-o", "json")
	})
	s.reaches(b, sessionsMetric, float64(*benchSessions))
	rate = float64(*benchSessions) / time.Since(began).Seconds()
	return rate, func() {
		stop()
		wg.Wait()
	}
}

// login is one run of BenchmarkRouteLogins.
type login struct {
	rate       float64
	cpu, redis time.Duration // of a log-in
}

func logins(b *testing.B, redis *redistest.Server) (l login) {
	b.Helper()
	var args []string
	if redis != nil {
		args = []string{"--redis", redis.Addr()}
	}
	s := serve(b, args...)
	defer s.kill()
	var redisBefore time.Duration
	if redis != nil {
		s.reaches(b, healthyMetric, 1)
		redisBefore = redisCPU(b, redis)
	}
	before := s.cpu(b)
	rate, end := storm(b, s)
	if redis != nil {
		s.reaches(b, registeredMetric, float64(*benchSessions))
		l.redis = (redisCPU(b, redis) - redisBefore) / time.Duration(*benchSessions)
	}
	l.rate, l.cpu = rate, (s.cpu(b)-before)/time.Duration(*benchSessions)
	end()
	return l
}

// BenchmarkRouteLogins compares a storm of log-ins on a node that registers them in Redis with one on a node of its own.
func BenchmarkRouteLogins(b *testing.B) {
	var with, without []login
	for i := range *benchPairs {
		pair := []func(){
			func() { with = append(with, logins(b, redistest.Start(b))) },
			func() { without = append(without, logins(b, nil)) },
		}
		if i%2 == 1 {
			slices.Reverse(pair)
		}
		for _, run := range pair {
			run()
		}
	}
	var ratios, rates, rates0, cpu, cpu0, redis []float64
	for i := range with {
		w, wo := with[i], without[i]
		ratios, rates, rates0 = append(ratios, w.rate/wo.rate), append(rates, w.rate), append(rates0, wo.rate)
		cpu, cpu0, redis = append(cpu, float64(w.cpu.Microseconds())), append(cpu0, float64(wo.cpu.Microseconds())), append(redis, float64(w.redis.Microseconds()))
		b.Logf("pair %d: %.0f log-ins/s with Redis, %.0f without, ratio %.2f; CPU of a log-in: %v and %v, Redis %v",
			i+1, w.rate, wo.rate, w.rate/wo.rate, w.cpu, wo.cpu, w.redis)
	}
	b.ReportMetric(median(ratios), "with/without")
	b.ReportMetric(median(rates), "log-ins/s")
	b.ReportMetric(median(rates0), "log-ins-alone/s")
	b.ReportMetric(median(cpu), "cpu-µs")
	b.ReportMetric(median(cpu0), "cpu-alone-µs")
	b.ReportMetric(median(redis), "redis-cpu-µs")
}

// chat sends for a while and returns how late the messages came.
func chat(b *testing.B, s *server) loadtest.ChatReport {
	b.Helper()
	code, stdout, stderr := call(b.Context(), s.addr, "chat", "--pairs", "64", "--rate", "1000", "--warmup", "1s", "--duration", benchTime.String(), "-o", "json")
	var r loadtest.ChatReport
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		b.Fatalf("chat: code %d, %v, %s%s", code, err, stderr, stdout)
	}
	return r
}

// compare lets messages flow in calm and in trouble in turn, and reports how late they came in each.
func compare(b *testing.B, calm, trouble func() loadtest.ChatReport) {
	b.Helper()
	quantiles := map[string][3][]float64{} // calm, trouble, ratio
	for i := range *benchPairs {
		var got [2]loadtest.ChatReport
		runs := []func(){func() { got[0] = calm() }, func() { got[1] = trouble() }}
		if i%2 == 1 {
			slices.Reverse(runs)
		}
		for _, run := range runs {
			run()
		}
		c, t := got[0].Push, got[1].Push
		b.Logf("pair %d: Send to Push, ms, calm and in trouble: p50 %.2f %.2f, p99 %.2f %.2f (ratio %.2f), p99.9 %.2f %.2f, max %.2f %.2f",
			i+1, c.P50, t.P50, c.P99, t.P99, t.P99/c.P99, c.P999, t.P999, c.Max, t.Max)
		for name, of := range map[string]func(loadtest.Latency) float64{
			"p50": func(l loadtest.Latency) float64 { return l.P50 }, "p99": func(l loadtest.Latency) float64 { return l.P99 },
		} {
			q := quantiles[name]
			q[0], q[1], q[2] = append(q[0], of(c)), append(q[1], of(t)), append(q[2], of(t)/of(c))
			quantiles[name] = q
		}
	}
	for name, q := range quantiles {
		b.ReportMetric(median(q[0]), name+"-calm-ms")
		b.ReportMetric(median(q[1]), name+"-trouble-ms")
		b.ReportMetric(median(q[2]), name+"-ratio")
	}
}

// BenchmarkRouteStopped compares local delivery while Redis is stopped with delivery while it is healthy, on one node in
// turn.
func BenchmarkRouteStopped(b *testing.B) {
	redis := redistest.Start(b)
	s := serve(b, "--redis", redis.Addr())
	compare(b, func() loadtest.ChatReport {
		s.reaches(b, healthyMetric, 1)
		return chat(b, s)
	}, func() loadtest.ChatReport {
		redis.Stop()
		defer redis.Continue()
		s.reaches(b, degradedMetric, 1)
		return chat(b, s)
	})
}

// BenchmarkRouteEmptied compares delivery while the table is written again after FLUSHALL, under many sessions, with
// delivery at rest.
func BenchmarkRouteEmptied(b *testing.B) {
	redis := redistest.Start(b)
	s := serve(b, "--redis", redis.Addr())
	s.reaches(b, healthyMetric, 1)
	_, end := storm(b, s)
	defer end()
	s.reaches(b, registeredMetric, float64(*benchSessions))
	compare(b, func() loadtest.ChatReport {
		s.reaches(b, healthyMetric, 1)
		return chat(b, s)
	}, func() loadtest.ChatReport {
		s.reaches(b, healthyMetric, 1)
		repaired := s.metric(b, repairedMetric)
		emptied := time.AfterFunc(1500*time.Millisecond, func() { _, _ = redis.Try("FLUSHALL") }) // half a second into what is measured
		defer emptied.Stop()
		r := chat(b, s)
		if n := s.metric(b, repairedMetric) - repaired; n < float64(*benchSessions) {
			b.Errorf("only %v routes were written again", n)
		}
		return r
	})
	var back, whole []float64
	for range *benchPairs {
		s.reaches(b, healthyMetric, 1)
		repaired, doubts := s.metric(b, repairedMetric), s.metric(b, doubtsMetric)
		redis.Do("FLUSHALL")
		began := time.Now()
		s.reaches(b, repairedMetric, repaired+float64(*benchSessions))
		back = append(back, time.Since(began).Seconds())
		s.reaches(b, doubtsMetric, doubts+1)
		s.reaches(b, healthyMetric, 1)
		whole = append(whole, time.Since(began).Seconds())
	}
	b.Logf("seconds until all routes were back %.2f, and until all was proven %.2f", back, whole)
	b.ReportMetric(median(back), "back-s")
	b.ReportMetric(median(whole), "proven-s")
}
