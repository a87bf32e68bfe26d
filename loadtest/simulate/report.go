package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// Report is what was measured. It depends on the Options alone, so two of the same are equal.
type Report struct {
	Clients int      `json:"clients"`
	Days    int      `json:"days"`
	Seeds   []uint64 `json:"seeds"`
	Results []Result `json:"results"` // one for each algorithm
}

// Result is what one algorithm did. Counts are per phone and day; times are in seconds.
type Result struct {
	Algorithm string `json:"algorithm"`

	Wakeups    Figure `json:"wakeups"`     // in background: pings, answers to Probes and Echoes, connects
	Breaks     Figure `json:"breaks"`      // the network forgot the connection
	FalseKills Figure `json:"false_kills"` // the server closed a connection that was good
	LatePushes Figure `json:"late_pushes"` // share later than 10 s, of those sent while the phone could be reached
	Trials     Figure `json:"trials"`      // trials begun
	SeenMean   Figure `json:"seen_mean"`   // a phone that vanished is taken for silent: Suspect, or closed where there is no such state
	SeenP95    Figure `json:"seen_p95"`
	ClosedMean Figure `json:"closed_mean"` // and is closed
	ClosedP95  Figure `json:"closed_p95"`

	// Percentiles 0 to 100 over all seeds.
	WakeupsOf []float64 `json:"wakeups_percentiles"` // of one phone, per day
	SeenAfter []float64 `json:"seen_percentiles"`
}

// Figure is a value measured once with each seed.
type Figure struct {
	Mean   float64   `json:"mean"`
	Spread float64   `json:"spread"` // sample standard deviation; 0 with one seed
	Values []float64 `json:"values"` // in the order of the seeds
}

func (f *Figure) add(v float64) { f.Values = append(f.Values, v) }

func (f *Figure) summarise() {
	n := float64(len(f.Values))
	sum := 0.0
	for _, v := range f.Values {
		sum += v
	}
	f.Mean = sum / n
	squares := 0.0
	for _, v := range f.Values {
		squares += (v - f.Mean) * (v - f.Mean)
	}
	f.Spread = math.Sqrt(squares / max(n-1, 1))
}

// WriteJSON writes everything.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// figures lists a result's figures.
func (r *Result) figures() []*Figure {
	return []*Figure{&r.Wakeups, &r.Breaks, &r.FalseKills, &r.LatePushes, &r.Trials, &r.SeenMean, &r.SeenP95, &r.ClosedMean, &r.ClosedP95}
}

// gathered is what the percentiles of one algorithm are made of.
type gathered struct{ wakeups, seen []float64 }

// add takes one seed's phones.
func (r *Result) add(phones []tally, days int, pool *gathered) {
	var all tally
	var seen, closed []float64
	for i := range phones {
		t := &phones[i]
		all.wakeups += t.wakeups
		all.breaks += t.breaks
		all.kills += t.kills
		all.pushes += t.pushes
		all.late += t.late
		all.trials += t.trials
		seen = appendSeconds(seen, t.seen)
		closed = appendSeconds(closed, t.closed)
		pool.wakeups = append(pool.wakeups, float64(t.wakeups)/float64(days))
	}
	pool.seen = append(pool.seen, seen...)
	slices.Sort(seen)
	slices.Sort(closed)
	phoneDays := float64(len(phones) * days)
	r.Wakeups.add(float64(all.wakeups) / phoneDays)
	r.Breaks.add(float64(all.breaks) / phoneDays)
	r.FalseKills.add(float64(all.kills) / phoneDays)
	r.Trials.add(float64(all.trials) / phoneDays)
	r.LatePushes.add(float64(all.late) / max(float64(all.pushes), 1))
	r.SeenMean.add(mean(seen))
	r.SeenP95.add(percentile(seen, 95))
	r.ClosedMean.add(mean(closed))
	r.ClosedP95.add(percentile(closed, 95))
}

func appendSeconds(to []float64, ms []int64) []float64 {
	for _, v := range ms {
		to = append(to, float64(v)/second)
	}
	return to
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / max(float64(len(values)), 1)
}

// percentile returns the smallest of sorted values that p percent do not exceed; 0 without values.
func percentile(sorted []float64, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

func percentiles(values []float64) []float64 {
	slices.Sort(values)
	all := make([]float64, 101)
	for p := range all {
		all[p] = percentile(values, p)
	}
	return all
}
