package server

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
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

// TestTheLastNetNeedsNobody: a session that is due for nothing is visited all the same. If its state is whole, it goes its
// way from there; if that is lost too, it is found by its silence alone, closed and counted.
func TestTheLastNetNeedsNobody(t *testing.T) {
	for path, leaked := range map[liveness.Path]uint64{liveness.PathActive: 0, liveness.PathClosed: 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			s := r.login(t, "lost", "phone").s
			live := func(d time.Duration) {
				for range d / (100 * time.Millisecond) {
					time.Sleep(100 * time.Millisecond)
					r.sh.mail.tick()
					r.sh.Run()
				}
			}
			live(time.Second) // the first pass visits the first slot
			s.Line.SetPath(liveness.PathState{Path: path})
			r.sh.plan(s).Due = session.Never
			// With a single slot a pass takes two ticks.
			live(2 * (blindEvery - 100) * 100 * time.Millisecond)
			if s.State != session.Active {
				t.Fatalf("%v: closed before anybody came", path)
			}
			live(3 * time.Hour)
			if got := r.core.meter.leaked.Get(); got != leaked || r.core.Sessions() != 0 {
				t.Errorf("%v: %d leaked, want %d; %d sessions", path, got, leaked, r.core.Sessions())
			}
		})
	}
}

// brokenConn panics when the sweep asks how much waits for it.
type brokenConn struct {
	nullConn
	broken bool
}

// OutboundBuffered implements Conn.
func (c *brokenConn) OutboundBuffered() int {
	if c.broken {
		c.broken = false
		panic("as the test wants it")
	}
	return 0
}

// TestAPanicInAVisitEndsThatConnection: the sweep would panic at it again in every pass.
func TestAPanicInAVisitEndsThatConnection(t *testing.T) {
	r := newRig(t)
	var sessions []*session.Session
	for i := range 3 {
		sessions = append(sessions, r.login(t, fmt.Sprint("user-", i), "phone").s)
	}
	broken := &brokenConn{nullConn: nullConn{s: sessions[1]}, broken: true}
	r.sh.conns.set(sessions[1], broken)
	closed := false
	r.sh.Bind(closer{r, func(c Conn) { closed = c == Conn(broken); r.sh.Closed(sessions[1], nil) }})
	for _, s := range sessions {
		r.sh.plan(s).Due = 0
	}
	for range 2 * sweepTicks {
		r.sh.mail.tick()
		r.sh.Run()
	}
	if !closed || sessions[0].State != session.Active || sessions[2].State != session.Active {
		t.Errorf("the connection is closed: %v; the others are %v and %v", closed, sessions[0].State, sessions[2].State)
	}
	if got := r.core.meter.panics.Get(); got != 1 {
		t.Errorf("%d panics counted", got)
	}
	if got := r.core.Sessions(); got != 2 {
		t.Errorf("%d sessions", got)
	}
}

// closer closes connections as the test says.
type closer struct {
	*rig
	close func(Conn)
}

// Close implements Loop.
func (c closer) Close(conn Conn) { c.close(conn) }

// TestATickDoesALittleAtATime: when everybody is due at once, as after a network's outage, no tick does more than its share,
// and nobody is forgotten.
func TestATickDoesALittleAtATime(t *testing.T) {
	const sessions = 20 * sweepActions
	r := newRig(t)
	crowd(t, r, sessions)
	for wall := time.Duration(0); wall < 5*time.Minute; wall += liveness.TickInterval {
		r.sh.clock.Tick(wall)
	}
	probes := r.core.meter.framesOut[protocol.TypeProbe]
	most := uint64(0)
	eventually(t, "everybody is probed", func() bool {
		before := probes.Get()
		r.sh.tick()
		most = max(most, probes.Get()-before)
		return probes.Get() == sessions
	})
	if most != sweepActions {
		t.Errorf("a tick sent up to %d Probes, want %d", most, sweepActions)
	}
}

// TestACrowdThatStaysBlockedDoesNotHoldUpTheSweep: a socket that takes nothing gives a visit nothing to do, so that any
// number of them cost no action.
func TestACrowdThatStaysBlockedDoesNotHoldUpTheSweep(t *testing.T) {
	r := newRig(t)
	crowd(t, r, 40*sweepActions)
	full := &fullConn{waiting: session.OutboundHigh + 1}
	for slot := range r.sh.slab.Slots() {
		s := r.sh.slab.At(slot)
		r.sh.conns.set(s, full)
		s.Head = 1
		s.Set(session.Blocked)
	}
	ticks := 0
	for ; r.sh.sweep.pass == 0; ticks++ {
		r.sh.tick()
	}
	if ticks > sweepTicks+1 {
		t.Errorf("a pass took %d ticks, want %d", ticks, sweepTicks)
	}
}

// TestTheLagOfManyIsMeasuredInTurn: a pass measures a bounded number of sessions, and a few passes measure each once.
func TestTheLagOfManyIsMeasuredInTurn(t *testing.T) {
	const sessions, most, passes = 10_000, 4096, 3
	r := newRig(t)
	crowd(t, r, sessions)
	positions := 0
	for slot := range r.sh.slab.Slots() {
		r.sh.slab.At(slot).Head = uint64(slot) // as far behind as no other
		positions += int(slot)
	}
	read := func(line string) int {
		var page bytes.Buffer
		r.core.opts.Metrics.WritePrometheus(&page)
		_, rest, _ := strings.Cut(page.String(), "\n"+line+" ")
		value, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return n
	}
	const count, sum = "lifeline_cursor_lag_positions_count", "lifeline_cursor_lag_positions_sum"
	for pass := range passes {
		before := read(count)
		for was := r.sh.sweep.pass; r.sh.sweep.pass == was; {
			r.sh.tick()
		}
		if got := read(count) - before; got == 0 || got > most {
			t.Errorf("pass %d measured %d sessions, want some and at most %d", pass, got, most)
		}
	}
	if n, lag := read(count), read(sum); n != sessions || lag != positions {
		t.Errorf("%d measured, %d positions in all, want %d and %d", n, lag, sessions, positions)
	}
}

// BenchmarkSweep is one full pass over a million quiet sessions, which takes a second of a node's time: its ns/op is the
// CPU time it costs in each second, all loops together.
func BenchmarkSweep(b *testing.B) {
	r := newRig(b)
	crowd(b, r, 1_000_000)
	for range 2 * sweepTicks { // the first pass visits everybody and finds when each is due
		r.sh.tick()
	}
	b.ReportAllocs()
	for b.Loop() {
		for range sweepTicks {
			r.sh.tick()
		}
	}
}

// TestTheNodesClockIsMonotonic: the moment that loops and sessions count from has a monotonic reading, and as long as it has,
// time.Since does not look at the clock on the wall, which may jump.
func TestTheNodesClockIsMonotonic(t *testing.T) {
	r := newRig(t)
	if started := r.core.started.String(); !strings.Contains(started, " m=") {
		t.Errorf("the node counts from %v, without a monotonic reading", started)
	}
}
