package server

import (
	"testing"

	"lifeline/protocol"
	"lifeline/server/session"
)

// crowd makes active sessions without log-ins: as many as the sweep is to pass over.
func crowd(t testing.TB, r *rig, n int) {
	t.Helper()
	conn := &nullConn{}
	for range n {
		s, err := r.sh.slab.Open()
		if err != nil {
			t.Fatal(err)
		}
		r.sh.conns.set(s, conn)
		s.State, s.Activity, s.Interval = session.Active, uint8(protocol.Background), 240
		s.LastIn, s.Progress = r.sh.clock.Now(), r.sh.clock.Now()
	}
}

// TestASweepAllocatesNothing: no timer, no goroutine and no garbage for a session that is quiet.
func TestASweepAllocatesNothing(t *testing.T) {
	r := newRig(t)
	crowd(t, r, 5000)
	for range sweepTicks {
		r.sh.tick()
	}
	if n := testing.AllocsPerRun(3*sweepTicks, r.sh.tick); n != 0 {
		t.Errorf("a tick over quiet sessions allocates %v times", n)
	}
	if got := r.core.meter.closes[protocol.CodeSilent].Get(); got != 0 {
		t.Errorf("%d were closed", got)
	}
}

// BenchmarkSweep is one full pass over a million quiet sessions, which takes a second of a node's time: its ns/op is the
// CPU time it costs in each second, all loops together.
func BenchmarkSweep(b *testing.B) {
	r := newRig(b)
	crowd(b, r, 1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		for range sweepTicks {
			r.sh.tick()
		}
	}
}
