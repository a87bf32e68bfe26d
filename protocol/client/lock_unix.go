//go:build unix

package client

import (
	"errors"
	"os"
	"syscall"
)

// lockFile keeps other processes from opening the same journal. The lock ends with the file's descriptor.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
