package loadtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestDialCauses(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{syscall.ECONNREFUSED, "NOBODY_LISTENS"},
		{syscall.EADDRNOTAVAIL, "NO_FREE_PORT"},
		{syscall.EMFILE, "NO_DESCRIPTOR"},
		{syscall.ENFILE, "NO_DESCRIPTOR"},
		{syscall.EHOSTUNREACH, "NO_ROUTE"},
		{syscall.ENETUNREACH, "NO_ROUTE"},
		{syscall.ECONNRESET, "RESET"},
		{syscall.ETIMEDOUT, "TIMEOUT"},
		{os.ErrDeadlineExceeded, "TIMEOUT"},
		{errors.New("something"), "DIAL_FAILED"},
	} {
		err := fmt.Errorf("dial: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", tt.err)})
		if got := dialCause(err); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.err, got, tt.want)
		}
	}
}
