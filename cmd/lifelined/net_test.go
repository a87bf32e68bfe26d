//go:build nettest

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lifeline/protocol"
)

// netVariable says that the process is alone in a namespace of its own. make test-net sets it.
const netVariable = "LIFELINED_NETTEST"

// trial is one disturbance and what must come of it.
type trial struct {
	name     string
	nat      nat
	disturb  func(s *scene)
	survives bool     // the connection that was there is there in the end
	probes   int      // what it takes to suspect it: one Probe if the server's kernel says that nothing arrives, else two; 0 = it is not suspected
	closed   []string // allowed reasons of closing it, none if it survives
}

const expiry = 2 * time.Second // of mappings; less than the 3.6 s to 4 s of silence between Pings

var (
	stable      = nat{}
	dropLoose   = nat{expires: expiry}
	dropStrict  = nat{expires: expiry, strict: true}
	resetLoose  = nat{expires: expiry, resets: true}
	resetStrict = nat{expires: expiry, resets: true, strict: true}
)

// The client may find out first: it leaves the old connection behind, and the server ends that when the new one is there.
var (
	leftBehind = []string{"superseded", "reset", "eof"}
	broken     = []string{"reset"}
	silent     = []string{"silent"}
)

var trials = []trial{
	{"mapping expires, message in the gap", dropLoose, (*scene).sendIntoGap, true, 0, nil},
	{"mapping expires, message in the gap", dropStrict, (*scene).sendIntoGap, false, 0, leftBehind},
	{"mapping expires, message in the gap", resetLoose, (*scene).sendIntoGap, false, 0, broken},
	{"mapping expires, message in the gap", resetStrict, (*scene).sendIntoGap, false, 0, broken},
	{"mapping expires, no message", dropLoose, threeGaps, true, 0, nil},
	{"mapping expires, no message", dropStrict, oneGap, false, 0, leftBehind},
	{"mapping expires, no message", resetLoose, threeGaps, true, 0, nil},
	{"mapping expires, no message", resetStrict, oneGap, false, 0, leftBehind},
	{"mapping expires, phone dozes", dropLoose, dozeThroughGap, false, 1, silent},
	{"mapping expires, phone dozes", dropStrict, dozeThroughGap, false, 1, silent},
	{"mapping expires, phone dozes", resetLoose, dozeThroughGap, false, 0, broken},
	{"mapping expires, phone dozes", resetStrict, dozeThroughGap, false, 0, broken},
	{"one packet in five is lost", stable, lossy, true, 0, nil},
	{"cable out for 6 s", stable, pullShortly, true, 0, nil},
	{"cable out until Suspect", stable, pullUntil("suspect"), false, 1, leftBehind},
	{"cable out until Closed", stable, pullUntil("silent"), false, 1, silent},
	{"phone frozen until Suspect", stable, freezeUntil("suspect"), true, 2, nil},
	{"phone frozen until Closed", stable, freezeUntil("silent"), false, 2, silent},
}

// oneGap has the client's next Ping meet a router without a mapping.
func oneGap(s *scene) {
	s.gap()
	s.disturb()
	s.await("the phone is back", func() bool { return s.online() == 2 })
	s.send(3)
}

// threeGaps has three Pings make the mapping anew.
func threeGaps(s *scene) {
	s.disturb()
	for range 3 {
		s.gap()
		s.await("the mapping is made anew", s.net.mapped)
	}
	s.send(3)
}

// dozeThroughGap has a phone that does not ping and a server with messages for it.
func dozeThroughGap(s *scene) {
	s.freeze(s.phone)
	s.gap()
	s.disturb()
	s.send(3)
	s.await("the server closes", func() bool {
		rose := s.rose()
		return rose["silent"] > 0 || rose["reset"] > 0
	})
	s.thaw(s.phone)
	s.await("the phone is back", func() bool { return s.online() == 2 })
}

// lossy sends one message after another, and lets Pings pass.
func lossy(s *scene) {
	s.net.lose()
	s.disturb()
	pings := func(m map[string]float64) float64 { return m[`lifeline_frames_total{direction="in",type="ping"}`] }
	before := pings(s.metrics())
	for range 100 {
		s.send(1)
		s.await("the message arrives", func() bool { return len(s.got()) == s.sent })
	}
	s.await("ten more Pings, of both clients", func() bool { return pings(s.metrics()) >= before+10 })
	if lost := s.net.count("lost"); lost < 30 {
		s.t.Errorf("only %d packets were lost: the test has proven little", lost)
	}
}

func pullShortly(s *scene) {
	s.net.pull()
	s.disturb()
	s.send(3)
	<-time.After(6 * time.Second) // the disturbance
	s.net.plug()
}

func pullUntil(label string) func(*scene) {
	return func(s *scene) {
		s.net.pull()
		s.disturb()
		s.send(3)
		s.awaitRise(label)
		s.net.plug()
		s.await("the phone is back", func() bool { return s.online() == 2 })
	}
}

func freezeUntil(label string) func(*scene) {
	return func(s *scene) {
		s.freeze(s.phone)
		s.disturb()
		s.send(3)
		s.awaitRise(label)
		s.thaw(s.phone)
	}
}

// results are the rows of the table, by place.
type results struct {
	mu   sync.Mutex
	rows map[int]string // Guarded by mu.
}

func (r *results) add(place int, name string, kind nat, s *scene, survived bool) {
	rose, closed := s.rose(), "-"
	for _, reason := range append(slices.Clone(silent), leftBehind...) {
		if after, ok := rose[reason]; ok {
			closed = fmt.Sprintf("%s, %s", after.Round(100*time.Millisecond), strings.ToUpper(reason))
		}
	}
	s.mu.Lock()
	back := s.back
	s.mu.Unlock()
	row := fmt.Sprintf("| %s | %s | %s | %s | %t | %s | %d of %d |", name, kind, span(rose["suspect"]), closed, survived, span(back),
		s.sent-len(s.got()), s.sent)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows[place] = row
}

func span(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return d.Round(100 * time.Millisecond).String()
}

func (r *results) print() {
	fmt.Println("| disturbance | NAT | to Suspect | to Closed | survived | phone back after | lost |\n|---|---|---|---|---|---|---|")
	for place := range len(trials) + 1 {
		fmt.Println(r.rows[place])
	}
}

// TestNet tries the server and the reference client on real networks: namespaces, joined by cables, with the kernel's
// NAT. It runs in namespaces only: see make test-net.
func TestNet(t *testing.T) {
	if os.Getenv(netVariable) == "" {
		t.Fatal("this test changes the network: run it by make test-net, which gives it one of its own")
	}
	r := &results{rows: map[int]string{}}
	t.Cleanup(r.print) // when the parallel parts have ended
	for place, tt := range trials {
		t.Run(tt.name+", "+tt.nat.String(), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, tt.nat, shortBeats)
			tt.disturb(s)
			s.arrived()
			r.add(place, tt.name, tt.nat, s, judgeNet(s, &tt))
		})
	}
	t.Run("the server is paused", func(t *testing.T) {
		t.Parallel()
		s := pauseServer(t)
		r.add(len(trials), "server paused for 30 s", stable, s, judgeNet(s, &trial{survives: true}))
	})
}

// judgeNet compares what came with what had to come, and reports whether the connection survived.
func judgeNet(s *scene, tt *trial) (survived bool) {
	s.t.Helper()
	s.note()
	rose := s.rose()
	survived = s.online() == 1 && s.view().Session.ConnID == s.connID
	if survived != tt.survives {
		s.t.Errorf("survived: %t, want %t; rose: %v; the phone said:\n%s", survived, tt.survives, rose, s.phone.said())
	}
	if _, suspect := rose["suspect"]; suspect != (tt.probes > 0) {
		s.t.Errorf("suspect: %t, want %t", suspect, tt.probes > 0)
	}
	var reasons []string
	for label := range rose {
		if !slices.Contains([]string{"active", "probing", "suspect", "closed"}, label) {
			reasons = append(reasons, label)
		}
	}
	if len(reasons) != min(len(tt.closed), 1) || len(reasons) == 1 && !slices.Contains(tt.closed, reasons[0]) {
		s.t.Errorf("closed for %v, want one of %v", reasons, tt.closed)
	}
	if probes := s.probes(); tt.probes > 0 && probes != tt.probes {
		s.t.Errorf("%d Probes, want %d", probes, tt.probes)
	}
	if leaked := s.metrics()["lifeline_leaked_sessions_total"]; leaked != 0 {
		s.t.Errorf("%v leaked", leaked)
	}
	return survived
}

// pauseServer stops the server for longer than desktops with a heartbeat of 1 s may be silent. Nobody is closed: the
// silence was the server's own.
func pauseServer(t *testing.T) *scene {
	s := newScene(t, stable, longBeats)
	var lines []*line
	for i := range 20 {
		conn, err := s.net.phone.dial(serverAddr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		lines = append(lines, desktop(t, conn, fmt.Sprint("desk-", i)))
	}
	s.disturb()
	s.freeze(s.server)
	<-time.After(30 * time.Second) // the disturbance
	s.thaw(s.server)
	for _, l := range lines {
		l.ping()
	}
	s.send(3)
	s.arrived()
	for _, l := range lines {
		l.ping()
	}
	return s
}

// desktop logs in with a token.
func desktop(t *testing.T, conn net.Conn, user string) *line {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(longPatience))
	l := &line{t: t, conn: conn, r: bufio.NewReader(conn)}
	f := connect(user, "desk")
	f.Token, f.Platform = []byte(token(t, user)), protocol.Desktop
	l.send(f)
	if got := l.next(); got.Type() != protocol.TypeConnack {
		t.Fatalf("log in: got %s", got.AppendText(nil))
	}
	return l
}
