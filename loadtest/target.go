package loadtest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Target is the server, and where the connections to it come from.
type Target struct {
	Server  string   // host:port, tcp4://host:port or tcp6://host:port
	Sources []string // local addresses to dial from, in turn; empty: the system chooses. One serves about 28,000 connections
	Loops   int      // event loops; 0: one for two cores, for the server may be on the same ones
}

func (t *Target) loops() int {
	if t.Loops > 0 {
		return t.Loops
	}
	return max(1, runtime.GOMAXPROCS(0)/2)
}

// address splits the server's address.
func (t *Target) address() (network, hostPort string, err error) {
	network, hostPort, ok := strings.Cut(t.Server, "://")
	if !ok {
		network, hostPort = "tcp", t.Server
	}
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return "", "", fmt.Errorf("server is %q, expected host:port, tcp4://host:port or tcp6://host:port", t.Server)
	}
	if _, _, err := net.SplitHostPort(hostPort); err != nil {
		return "", "", fmt.Errorf("server is %q: %w", t.Server, err)
	}
	return network, hostPort, nil
}

// descriptorReserve is what a run needs beside its connections: event loops, dials on their way, the standard streams.
const descriptorReserve = dialsAtOnce + 64

// faults lists what is wrong with the target for so many connections.
func (t *Target) faults(connections int) (faults []error) {
	if _, _, err := t.address(); err != nil {
		faults = append(faults, err)
	}
	for _, s := range t.Sources {
		if _, err := netip.ParseAddr(s); err != nil {
			faults = append(faults, fmt.Errorf("source is %q, expected an address of this machine", s))
		}
	}
	if t.Loops < 0 || t.Loops > 256 {
		faults = append(faults, fmt.Errorf("loops is %d, must be 0 to 256", t.Loops))
	}
	if connections < 1 {
		return append(faults, errors.New("there must be at least one connection"))
	}
	if limit := descriptors(); connections > limit-descriptorReserve {
		faults = append(faults, fmt.Errorf("%d connections need %d descriptors, but the limit is %d: raise it (ulimit -n), or take fewer",
			connections, connections+descriptorReserve, limit))
	}
	return faults
}

// descriptors is how many this process may have.
func descriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 1<<31 {
		return 1 << 31
	}
	return int(limit.Cur)
}
