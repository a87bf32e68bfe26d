//go:build nettest

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// namespace is a network of its own. It lasts as long as its file is open or a process is inside.
type namespace struct {
	t    testing.TB
	file *os.File
}

const threadNet = "/proc/thread-self/ns/net"

func newNamespace(t testing.TB) *namespace {
	t.Helper()
	n := &namespace{t: t}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			n.file, err = os.Open(threadNet)
		}
		failed <- err
	}()
	if err := <-failed; err != nil {
		t.Fatalf("make a network namespace: %v", err)
	}
	t.Cleanup(func() { n.file.Close() })
	n.run("ip link set lo up")
	return n
}

// do calls f on a thread that is inside. Sockets opened and processes started by f's goroutine belong to the namespace.
func (n *namespace) do(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := os.Open(threadNet)
	if err != nil {
		panic(err)
	}
	defer home.Close()
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(err)
	}
	defer func() {
		if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err) // the thread would take others' work with it
		}
	}()
	f()
}

// path names the namespace for ip.
func (n *namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// run runs commands inside, one a line, and returns what the last one said.
func (n *namespace) run(commands ...string) (said string) {
	n.t.Helper()
	for _, command := range commands {
		said = n.feed("", strings.Fields(command)...)
	}
	return said
}

func (n *namespace) feed(stdin string, command ...string) (said string) {
	n.t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Stdin = strings.NewReader(stdin)
	var out []byte
	var err error
	n.do(func() { out, err = c.CombinedOutput() })
	if err != nil {
		n.t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

func (n *namespace) set(name string, value int) {
	n.t.Helper()
	var err error
	n.do(func() { err = os.WriteFile("/proc/sys/net/"+name, []byte(strconv.Itoa(value)), 0) })
	if err != nil {
		n.t.Fatal(err)
	}
}

// dial connects from inside. The address is a literal, so that nothing but this goroutine opens the socket.
func (n *namespace) dial(address string) (conn net.Conn, err error) {
	n.do(func() { conn, err = (&net.Dialer{Timeout: patience, KeepAlive: -1}).Dial("tcp4", address) })
	return conn, err
}

// nat says what the router does with a mapping that nobody used, and with packets that have none.
type nat struct {
	resets  bool          // it answers such packets with RST; if not, it drops them
	strict  bool          // it makes no mapping for a connection that it did not see begin (tcp_loose 0)
	expires time.Duration // life of an unused mapping; 0 = days
}

func (n nat) String() string {
	if n.expires == 0 {
		return "mappings last"
	}
	kind, loose := "drop", 1
	if n.resets {
		kind = "reset"
	}
	if n.strict {
		loose = 0
	}
	return fmt.Sprintf("%s, tcp_loose %d", kind, loose)
}

// network is a phone, a router with NAT, and a server, each in a namespace: phone - lan|router|wan - server.
type network struct{ phone, router, server *namespace }

const (
	serverAddr = "192.0.2.2:7400"
	serverHTTP = "127.0.0.1:7401"
)

// The phone's side is masqueraded; what comes for no mapping, from either side, meets the router's verdict.
const rules = `
table ip router {
	counter stray {
	}
	counter lost {
	}
	chain leaving {
		type nat hook postrouting priority srcnat; policy accept;
		oifname "wan" masquerade
	}
	chain through {
		type filter hook forward priority filter; policy accept;
		ct state invalid counter name stray VERDICT
	}
	chain into {
		type filter hook input priority filter; policy accept;
		iifname "wan" meta l4proto tcp counter name stray VERDICT
	}
}
`

func newNetwork(t testing.TB, kind nat) *network {
	t.Helper()
	n := &network{phone: newNamespace(t), router: newNamespace(t), server: newNamespace(t)}
	n.router.run(
		"ip link add lan type veth peer name eth0 netns "+n.phone.path(),
		"ip link add wan type veth peer name eth0 netns "+n.server.path(),
		"ip address add 10.0.0.1/24 dev lan", "ip link set lan up",
		"ip address add 192.0.2.1/24 dev wan", "ip link set wan up")
	n.phone.run("ip address add 10.0.0.2/24 dev eth0", "ip link set eth0 up", "ip route add default via 10.0.0.1")
	n.server.run("ip address add 192.0.2.2/24 dev eth0", "ip link set eth0 up")
	n.router.set("ipv4/ip_forward", 1)
	verdict, loose := "drop", 1
	if kind.resets {
		verdict = "reject with tcp reset"
	}
	if kind.strict {
		loose = 0
	}
	n.router.feed(strings.ReplaceAll(rules, "VERDICT", verdict), "nft", "-f", "-")
	n.router.set("netfilter/nf_conntrack_tcp_loose", loose)
	if kind.expires > 0 {
		n.router.set("netfilter/nf_conntrack_tcp_timeout_established", int(kind.expires/time.Second))
	}
	return n
}

// lose drops one packet in five at random, in both directions.
func (n *network) lose() {
	n.router.run("nft add rule ip router through numgen random mod 100 < 20 counter name lost drop")
}

// pull pulls the cable between phone and router; plug puts it back.
func (n *network) pull() { n.router.run("ip link set lan down") }
func (n *network) plug() { n.router.run("ip link set lan up") }

// count returns the packets of a named counter of the rules.
func (n *network) count(counter string) (packets int) {
	n.router.t.Helper()
	said := n.router.run("nft list counter ip router " + counter)
	_, after, _ := strings.Cut(said, "packets ")
	if _, err := fmt.Sscan(after, &packets); err != nil {
		n.router.t.Fatalf("%v in %s", err, said)
	}
	return packets
}

// mapped reports whether the router has a mapping for an established connection. It shows none that is past its time.
func (n *network) mapped() bool {
	n.router.t.Helper()
	var table []byte
	var err error
	n.router.do(func() { table, err = os.ReadFile("/proc/thread-self/net/nf_conntrack") })
	if err != nil {
		n.router.t.Fatal(err)
	}
	return strings.Contains(string(table), " ESTABLISHED ")
}
