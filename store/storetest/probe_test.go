package storetest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// probe is a testing.TB whose failures are kept instead of told.
type probe struct {
	testing.TB

	// Guarded by mu.
	mu       sync.Mutex
	faults   []string
	cleanups []func()
}

// examine runs one test of the suite on a harness and returns what it finds.
func examine(t *testing.T, test test, h Harness) []string {
	p := &probe{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, cleanup := range slices.Backward(p.cleanups) {
				cleanup()
			}
		}()
		test.execute(p, h)
	}()
	<-done
	return p.faults
}

func (p *probe) fault(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, strings.TrimSpace(text))
}

func (p *probe) Cleanup(f func())                  { p.cleanups = append(p.cleanups, f) }
func (p *probe) Helper()                           {}
func (p *probe) Error(args ...any)                 { p.fault(fmt.Sprintln(args...)) }
func (p *probe) Errorf(format string, args ...any) { p.fault(fmt.Sprintf(format, args...)) }

func (p *probe) Fatal(args ...any) {
	p.fault(fmt.Sprintln(args...))
	runtime.Goexit()
}

func (p *probe) Fatalf(format string, args ...any) {
	p.fault(fmt.Sprintf(format, args...))
	runtime.Goexit()
}
