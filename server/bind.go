package server

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// testBind checks that nobody listens on the addresses. The listeners themselves share their port (SO_REUSEPORT), so a
// second node would start without a word and take half of the connections; a bind without that option fails while a
// listener lives, and passes over what a killed node left behind.
func testBind(addrs []string) error {
	var faults []error
	for _, addr := range addrs {
		if err := testBindOne(addr); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

func testBindOne(addr string) error {
	sa, family, err := sockaddr(addr)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	if err := unix.Bind(fd, sa); err != nil {
		if errors.Is(err, unix.EADDRINUSE) {
			return fmt.Errorf("listen on %s: another process listens there: stop it, or choose another address", addr)
		}
		if errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("listen on %s: this machine has no such address: choose one of its own, or 0.0.0.0 or [::] for all", addr)
		}
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	return nil
}

func sockaddr(addr string) (unix.Sockaddr, int, error) {
	_, hostPort, ok := strings.Cut(addr, "://")
	if !ok {
		return nil, 0, fmt.Errorf("listen on %s: want tcp4://host:port or tcp6://[host]:port", addr)
	}
	ap, err := netip.ParseAddrPort(hostPort)
	if err != nil {
		return nil, 0, fmt.Errorf("listen on %s: %w", addr, err)
	}
	if ip := ap.Addr(); ip.Is4() {
		return &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ip.As4()}, unix.AF_INET, nil
	}
	return &unix.SockaddrInet6{Port: int(ap.Port()), Addr: ap.Addr().As16()}, unix.AF_INET6, nil
}
