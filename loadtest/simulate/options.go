package simulate

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// Options says how much is simulated. The zero value of a field means its default.
type Options struct {
	Clients int      // phones per seed; 1500
	Days    int      // 14
	Seeds   []uint64 // 1 to 5
	Workers int      // phones simulated at once; one per core. The result does not depend on it

	// Watch, if set, is told after each phone how many lives are done, of how many. Any goroutine calls it, one at a time.
	Watch func(done, of int)
}

// Validate reports every fault.
func (o Options) Validate() error {
	var faults []error
	if o.Clients < 0 || o.Clients > 1_000_000 {
		faults = append(faults, fmt.Errorf("clients is %d, must be 1 to 1000000, or 0 for the default", o.Clients))
	}
	if o.Days < 0 || o.Days > 365 {
		faults = append(faults, fmt.Errorf("days is %d, must be 1 to 365, or 0 for the default", o.Days))
	}
	if o.Workers < 0 {
		faults = append(faults, fmt.Errorf("workers is %d, must not be negative", o.Workers))
	}
	for i, seed := range o.Seeds {
		if slices.Contains(o.Seeds[:i], seed) {
			faults = append(faults, fmt.Errorf("seed %d is given twice, and would narrow the spread", seed))
		}
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.Clients == 0 {
		o.Clients = 1500
	}
	if o.Days == 0 {
		o.Days = 14
	}
	if len(o.Seeds) == 0 {
		o.Seeds = []uint64{1, 2, 3, 4, 5}
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o
}
