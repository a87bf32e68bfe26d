package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slots is the number of parts a Cluster's keys are cut into.
const slots = 16384

// StartCluster starts a Cluster of three masters without replicas. A missing one does not stop the others.
func StartCluster(tb testing.TB) []*Server {
	tb.Helper()
	var all []*Server
	for range 3 {
		_, bus, _ := net.SplitHostPort(FreeAddr(tb))
		all = append(all, Start(tb, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-config-file", "nodes.conf",
			"--cluster-require-full-coverage", "no", "--cluster-node-timeout", "2000"))
	}
	for i, s := range all {
		first, end := i*slots/len(all), (i+1)*slots/len(all)
		s.Do("CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(first), fmt.Sprint(end-1))
		s.Do("CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1))
	}
	for _, s := range all {
		met := time.Time{}
		s.eventually("the Cluster is whole", func() bool {
			if time.Since(met) > 5*time.Second { // one who does not answer in time is not met, and not tried again
				met = time.Now()
				meet(all)
			}
			info := s.Do("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") &&
				strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d", slots))
		})
	}
	return all
}

// meet tells the first of the others.
func meet(all []*Server) {
	for _, s := range all[1:] {
		host, port, _ := net.SplitHostPort(s.addr)
		all[0].Do("CLUSTER", "MEET", host, port, s.args[3])
	}
}

// StartSentinel starts a master, a replica, and a Sentinel that knows the master by a name and fails over alone. It
// returns the Sentinel's address.
func StartSentinel(tb testing.TB, name string) (addr string, master, replica *Server) {
	tb.Helper()
	master = Start(tb)
	host, port, _ := net.SplitHostPort(master.addr)
	replica = Start(tb, "--replicaof", host+" "+port)
	replica.eventually("the replica follows", func() bool {
		return strings.Contains(replica.Do("INFO", "replication"), "master_link_status:up")
	})
	sentinel := &Server{tb: tb, dir: tb.TempDir(), addr: FreeAddr(tb)}
	sentinel.runSentinel(name, host, port)
	sentinel.eventually("the Sentinel knows both", func() bool {
		return strings.Contains(sentinel.Do("INFO", "sentinel"), "slaves=1")
	})
	return sentinel.addr, master, replica
}

// runSentinel starts a Sentinel from a file, which it will rewrite.
func (s *Server) runSentinel(name, host, port string) {
	s.tb.Helper()
	_, own, _ := net.SplitHostPort(s.addr)
	config := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor %s %s %s 1\nsentinel down-after-milliseconds %s 500\n"+
		"sentinel failover-timeout %s 5000\n", own, s.dir, name, host, port, name, name)
	path := filepath.Join(s.dir, "sentinel.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		s.tb.Fatal(err)
	}
	s.start([]string{path, "--sentinel"})
	s.awaitAnswer()
}
