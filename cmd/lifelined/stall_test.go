package main

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lifeline/protocol"
)

const (
	stallFor   = 500 * time.Millisecond
	stallEvery = 4 * time.Second // for two seconds after each the server judges nobody
	stallsMost = 60              // a busy machine, on which ticks are late anyway, judges less often
	crowdBeat  = time.Second     // so that 16 s of silence are the limit
)

// crowdMany is the dialler with devices that are alive: one in two pings as it is told, the others only answer when
// they are asked whether they are there. A connection that ends is named.
func crowdMany(args []string) {
	hold(args, protocol.Desktop, func(i int, conn net.Conn) {
		go answerProbes(i, conn)
		if i%2 == 0 {
			go pingForEver(conn)
		}
	})
}

func answerProbes(i int, conn net.Conn) {
	ack := (&protocol.ProbeAck{}).Append(nil)
	for r := bufio.NewReaderSize(conn, 64); ; {
		f, err := readFrame(r)
		if err == nil && f.Type() == protocol.TypeProbe {
			_, err = conn.Write(ack)
		}
		if closed, ok := f.(*protocol.Close); ok {
			err = fmt.Errorf("closed for %v", closed.Status.Code)
		}
		if err != nil {
			fmt.Printf("connection %d is lost: %v\n", i, err)
			return
		}
	}
}

func pingForEver(conn net.Conn) {
	ping := (&protocol.Ping{}).Append(nil)
	for range time.Tick(crowdBeat * 95 / 100) {
		if _, err := conn.Write(ping); err != nil {
			return // answerProbes says it
		}
	}
}

// crowdSize is how many connections both processes may have, stallConnections at most.
func crowdSize(t *testing.T, s *node) int {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return min(stallConnections, int(s.metric("lifeline_connections_max")), int(min(limit.Cur, 1<<20))-64)
}

// TestAStoppedServerClosesNobody stops the server for half a second, again and again, until the limit of everybody's
// silence has passed: in a standstill for some, between two for others. As a long collection it stops every thread.
func TestAStoppedServerClosesNobody(t *testing.T) {
	s := serve(t, "", "--heartbeat-desktop", crowdBeat.String())
	count := crowdSize(t, s)
	crowd := child(t, "crowd", "", s.addr, strconv.Itoa(count))
	within(t, crowdPatience, "all are connected", func() bool { return strings.Contains(crowd.said(), fmt.Sprint("holding ", count)) })
	pings := func() float64 { return s.metric(`lifeline_frames_total{direction="in",type="ping"}`) }
	stalls := 0
	for asked := 0.0; asked < float64(count/2); asked = s.metric(`lifeline_paths_total{state="probing"}`) {
		if stalls == stallsMost {
			t.Fatalf("after %d standstills only %v of %d silent devices were asked", stalls, asked, count/2)
		}
		if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		<-time.After(stallFor) // the disturbance
		if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		<-time.After(stallEvery - stallFor)
		stalls++
	}
	before := pings()
	eventually(t, "heartbeats go on", func() bool { return pings() >= before+float64(count/2) })
	if late := s.metric("lifeline_late_ticks_total"); late < float64(stalls) {
		t.Errorf("the loops noticed %v standstills of %d", late, stalls)
	}
	t.Logf("%d connections, %d standstills of %v", count, stalls, stallFor)
	for name, want := range map[string]float64{
		"lifeline_sessions": float64(count), "lifeline_closes_total": 0, `lifeline_paths_total{state="suspect"}`: 0,
		"lifeline_leaked_sessions_total": 0, "lifeline_panics_total": 0,
	} {
		if got := s.metric(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if said := crowd.said(); strings.Contains(said, "lost") {
		t.Errorf("the crowd said:\n%.1000s", said)
	}
}
