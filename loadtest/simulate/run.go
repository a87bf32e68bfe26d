package simulate

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// algorithm is one of those compared.
type algorithm struct {
	name string
	new  func(p *phone) line
}

var algorithms = []algorithm{
	{"fixed 30 s", func(p *phone) line { return &fixed{p, 30 * second} }},
	{"fixed 60 s", func(p *phone) line { return &fixed{p, 60 * second} }},
	{"fixed 4.5 min", func(p *phone) line { return &fixed{p, 270 * second} }},
	{"smart, client only", func(p *phone) line { return &smart{fixed: fixed{p: p}} }},
	{"this design", func(p *phone) line { return newAdaptive(p) }},
}

// Run simulates and measures. It uses Options.Workers goroutines and returns when they are done.
func Run(o Options) (Report, error) {
	if err := o.Validate(); err != nil {
		return Report{}, err
	}
	o = o.withDefaults()
	report := Report{Clients: o.Clients, Days: o.Days, Seeds: o.Seeds, Results: make([]Result, len(algorithms))}
	pools := make([]gathered, len(algorithms))
	watch := watcher(o)
	for _, seed := range o.Seeds {
		for i, phones := range tallies(o, seed, watch) {
			report.Results[i].add(phones, o.Days, &pools[i])
		}
	}
	for i := range report.Results {
		r := &report.Results[i]
		r.Algorithm = algorithms[i].name
		for _, f := range r.figures() {
			f.summarise()
		}
		r.WakeupsOf, r.SeenAfter = percentiles(pools[i].wakeups), percentiles(pools[i].seen)
	}
	return report, nil
}

// watcher counts lives for Options.Watch.
func watcher(o Options) (lived func()) {
	if o.Watch == nil {
		return func() {}
	}
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		o.Watch(done, o.Clients*len(o.Seeds))
	}
}

// tallies lives every phone's life with every algorithm: [algorithm][phone].
func tallies(o Options, seed uint64, lived func()) [][]tally {
	all := make([][]tally, len(algorithms))
	for i := range all {
		all[i] = make([]tally, o.Clients)
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range o.Workers {
		workers.Go(func() {
			for {
				client := int(next.Add(1)) - 1
				if client >= o.Clients {
					return
				}
				w := newWorld(rand.New(rand.NewPCG(seed, uint64(client))), o.Days)
				for i, a := range algorithms {
					live(&w, a, rand.New(rand.NewPCG(seed, uint64(client+i*o.Clients)+1<<32)), &all[i][client])
				}
				lived()
			}
		})
	}
	workers.Wait()
	return all
}

func live(w *world, a algorithm, r *rand.Rand, sum *tally) {
	p := phone{r: r, world: w, sum: sum}
	p.line = a.new(&p)
	p.run()
}
