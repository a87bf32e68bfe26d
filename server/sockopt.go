package server

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"lifeline/server/config"
)

// Options of a client's socket beside those gnet sets (no delay, the two buffers). Each has one value for all.
const (
	// notSentLowat keeps what the kernel takes before it can send it small, so that what waits, waits where it is counted.
	notSentLowat = 16 << 10
	// rtoMax has the kernel try again at least this often, so that a path that comes back is found soon.
	rtoMax = 10_000 // milliseconds
	// tcpRTOMax is TCP_RTO_MAX_MS of Linux 6.15 and later.
	tcpRTOMax = 44
)

// setSocketOptions sets them on an accepted socket. gnet opens a listener for each loop itself and tells nobody, so they
// cannot be set once and inherited; two or three system calls are nothing beside an accept.
func setSocketOptions(fd int) error {
	err := errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, notSentLowat),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(config.UserTimeout.Milliseconds())),
	)
	if e := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, tcpRTOMax, rtoMax); e != nil && !errors.Is(e, unix.ENOPROTOOPT) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("set a socket's options: %w", err)
	}
	return nil
}
