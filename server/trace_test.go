package server

import (
	"context"
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

// TestATraceThatIsGivenUpIsGone: its loop was busy, and takes the question up when nobody listens any more.
func TestATraceThatIsGivenUpIsGone(t *testing.T) {
	r := newRig(t)
	c := r.login(t, "bob", "phone")
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.core.Trace(ctx, c.s.ID, func([]byte) error { return nil })
	}()
	for {
		select {
		case <-r.woke:
			r.sh.Run()
			continue
		case <-ended:
		}
		break
	}
	r.sh.Run()
	if len(r.sh.traces) != 0 || c.s.Has(session.Traced) {
		t.Error("the connection is traced for nobody")
	}
}
