package client

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// splitAddress takes scheme://host:port with a scheme of tcp, tcp4 or tcp6, or host:port alone.
func splitAddress(address string) (network, hostPort string, err error) {
	network, hostPort, ok := strings.Cut(address, "://")
	if !ok {
		network, hostPort = "tcp", address
	}
	if !slices.Contains([]string{"tcp", "tcp4", "tcp6"}, network) {
		return "", "", fmt.Errorf("address %q: want tcp4://host:port, tcp6://host:port or host:port", address)
	}
	if _, port, err := net.SplitHostPort(hostPort); err != nil || port == "" {
		return "", "", fmt.Errorf("address %q: want host:port after the scheme", address)
	}
	return network, hostPort, nil
}
