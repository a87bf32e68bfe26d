package server

import (
	"testing"
	"time"

	"lifeline/server/session"
)

// TestTraceOfALoopThatNobodyUses: such a loop hears nothing, so nobody may wait for its answer.
func TestTraceOfALoopThatNobodyUses(t *testing.T) {
	r := newRig(t, func(o *CoreOptions) { o.Loops = 2 })
	ended := make(chan error, 1)
	go func() {
		ended <- r.core.Trace(t.Context(), session.NewConnID(1, 0, 1), func([]byte) error { return nil })
	}()
	select {
	case err := <-ended:
		if err != errNoConnection {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the trace waits for a loop that does not run")
	}
}
