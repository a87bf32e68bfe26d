package main

import (
	"errors"

	"lifeline/loadtest"
)

// Exit codes. Scripts rely on them; those that lifelinectl has too mean the same there.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitUnreached   = 4
	exitWrong       = 5
	exitInterrupted = 130
)

const exitCodes = `  0    done, and nothing was wrong
  1    the run is not whole: connections were lost or not made, or Sends have no answer
  2    the command line is wrong; nothing was done
  3    the server refused log-ins, or messages for good
  4    the server could not be reached
  5    the server broke a promise: a message was lost, out of order, stored twice or damaged
  130  interrupted; the report tells how far it got`

// usageError is a fault of the command line.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

var errInterrupted = errors.New("interrupted")

func usage(err error) error { return &usageError{err} }

func exitCode(err error) int {
	var wrongUsage *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrongUsage):
		return exitUsage
	case errors.Is(err, loadtest.ErrWrong):
		return exitWrong
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, loadtest.ErrRefused):
		return exitRefused
	case errors.Is(err, loadtest.ErrUnreached):
		return exitUnreached
	}
	return exitFailed
}
