package config

import (
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sys/unix"
)

// ThisMachine raises the soft descriptor limit of the process to the hard one, and returns what the process may use.
func ThisMachine() (Machine, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return Machine{}, fmt.Errorf("read descriptor limit: %w", err)
	}
	// A hard limit above fs.nr_open cannot be had; the soft one then stays and is what counts.
	raised := unix.Rlimit{Cur: limit.Max, Max: limit.Max}
	if limit.Cur < limit.Max && unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
		limit = raised
	}
	return Machine{Cores: runtime.GOMAXPROCS(0), Descriptors: int(min(limit.Cur, math.MaxInt32))}, nil
}
