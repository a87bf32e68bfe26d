package loadtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	dialsAtOnce  = 256 // more wait; the time is counted to them
	dialPatience = 10 * time.Second
)

// dialler makes connections at a rate and gives each to its loop.
type dialler struct {
	// Set at construction.
	network, address string
	from             []net.Dialer // used in turn
	room             chan struct{}

	mu        sync.Mutex
	unreached Tally // Guarded by mu.
}

func newDialler(t *Target) (*dialler, error) {
	network, address, err := t.address()
	if err != nil {
		return nil, err
	}
	d := &dialler{network: network, address: address, room: make(chan struct{}, dialsAtOnce)}
	for _, s := range t.Sources {
		ip, err := netip.ParseAddr(s)
		if err != nil {
			return nil, fmt.Errorf("source %q: %w", s, err)
		}
		local := net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
		d.from = append(d.from, net.Dialer{Timeout: dialPatience, KeepAlive: -1, LocalAddr: local, Control: latePort})
	}
	if len(d.from) == 0 {
		d.from = []net.Dialer{{Timeout: dialPatience, KeepAlive: -1}}
	}
	return d, nil
}

// latePort lets the kernel choose the port when it knows the other end, so that a source address has all of them for each
// server.
func latePort(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	})
	return errors.Join(err, failed)
}

// dialAll dials for n devices, the one with number i at i/rate seconds, or as fast as it can if rate is zero. It returns
// when each dial has ended; the devices' own answers may come later. A dial that has to wait for others is late, and its
// device's time counts from when it was due.
func (d *dialler) dialAll(ctx context.Context, clock func() int64, n int, rate float64, at func(i int) (*device, *engine)) {
	var dials sync.WaitGroup
	defer dials.Wait()
	began := clock()
	for i := range n {
		due := clock()
		if rate > 0 {
			due = began + int64(float64(i)/rate*second)
		}
		if !pause(ctx, time.Duration(due-clock())) {
			return
		}
		d.room <- struct{}{}
		device, e := at(i)
		device.dialled = due
		dials.Go(func() {
			d.dial(ctx, i, device, e)
			<-d.room
		})
	}
}

func (d *dialler) dial(ctx context.Context, i int, device *device, e *engine) {
	c, err := d.from[i%len(d.from)].DialContext(ctx, d.network, d.address)
	if err == nil {
		err = e.enroll(c, device)
	}
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.unreached.add(dialCause(err), 1)
	}
}

// failed is what kept dials from the server so far.
func (d *dialler) failed() (t Tally) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.merge(d.unreached)
	return t
}

// dialCause names what kept a dial from the server.
func dialCause(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "NOBODY_LISTENS"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "NO_FREE_PORT" // more --source addresses help
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "NO_DESCRIPTOR"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "NO_ROUTE"
	case errors.Is(err, syscall.ECONNRESET):
		return "RESET"
	case errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return "TIMEOUT"
	default:
		return "DIAL_FAILED"
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// pause waits, and is false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
