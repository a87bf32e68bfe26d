package main

import (
	"testing"

	"lifeline/server/config"
	"lifeline/store/pebblestore"
)

// TestTheReserveHoldsWhatIsNoConnection: when connections have taken all they may, the rest must fit. A failing accept ends
// the node, and so does a store that cannot open its files.
func TestTheReserveHoldsWhatIsNoConnection(t *testing.T) {
	const (
		loops = 4 * config.MaxLoops // epoll, eventfd, and a listening socket for each of two addresses
		other = 64 + 32             // HTTP; the online table, the standard streams
	)
	if sum := pebblestore.MaxOpenFiles + loops + other; sum > config.DescriptorReserve {
		t.Errorf("%d descriptors are needed beside those of connections, %d are kept", sum, config.DescriptorReserve)
	}
}
