package loadtest

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is what a figure depends on beside the server.
type Machine struct {
	Cores      int    `json:"cores"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	GOGC       int    `json:"gogc"` // -1: no garbage collection
	Loops      int    `json:"loops"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

func thisMachine(loops int) Machine {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	gogc := -1
	if v := sample[0].Value.Uint64(); v < 1<<31 {
		gogc = int(v)
	}
	return Machine{Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0), GOGC: gogc, Loops: loops,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
}

// cpuTime is what this process has used of its cores.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is this process's memory that is backed by no file, in bytes; 0 where the system does not tell.
func resident() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte("RssAnon:"))
		if !ok {
			continue
		}
		kib, err := strconv.Atoi(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))))
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}
