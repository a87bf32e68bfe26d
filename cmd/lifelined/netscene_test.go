//go:build nettest

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"lifeline/protocol/client"
)

// scene is one server, one phone behind one NAT, and a sender beside the server.
type scene struct {
	// Set at construction.
	t      testing.TB
	net    *network
	server *process
	phone  *process
	sender *client.Client
	http   http.Client

	// Owned by the test's goroutine.
	sent   int    // messages
	connID string // of the phone's session when the disturbance began

	answered atomic.Int32 // messages that the server has stored

	mu     sync.Mutex
	began  time.Time                // of the disturbance. Guarded by mu.
	before map[string]float64       // metrics at began. Guarded by mu.
	seen   map[string]time.Duration // metric that rose -> how long after began. Guarded by mu.
	back   time.Duration            // from began until the phone had a second session, 0 = it had none. Guarded by mu.
}

// longPatience bounds every wait of a scene: the longest way is limit, Probes, hold, and a try to come back.
const longPatience = 85 * time.Second

// Limit 4 + 15 s, Probes 20 s, hold 20 s, or 30 s when the phone's kernel answers.
const shortBeats = `
  foreground: {min: 1s, interval: 4s}
  hold: {foreground: 20s, background: 30s}
`

// longBeats keep phones from pinging in a pause, and desktops from living through it unless it does not count.
const longBeats = `
  desktop: 1s
`

const secret = "a secret of thirty-two bytes or so"

// newScene starts everything and waits until the phone is online and has its first message.
func newScene(t *testing.T, kind nat, heartbeat string) *scene {
	t.Helper()
	s := &scene{t: t, net: newNetwork(t, kind), phone: new(process)}
	s.http = http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(_ context.Context, _, address string) (net.Conn, error) { return s.net.server.dial(address) }}}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := write(t, fmt.Sprintf("listen: [tcp4://%s]\nhttp: %s\nstore: memory\nauth:\n  mode: jwt\n  keys: [{kid: k, algorithm: HS256, file: %q}]\nheartbeat:%s",
		serverAddr, serverHTTP, key, heartbeat))
	s.net.server.do(func() { s.server = child(t, "server", "", "--config", cfg) })
	s.await("the server serves", func() bool { return strings.Contains(s.server.said(), "msg=serving") })
	s.net.phone.do(func() { s.phone = child(t, "phone", "", serverAddr, token(t, "phone")) })
	s.await("the phone is online", func() bool { return s.online() == 1 })
	s.startSender()
	s.send(1)
	s.arrived()
	return s
}

// hasEnded reports whether the child is no more.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func token(t testing.TB, user string) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": user, "aud": "lifeline", "exp": time.Now().Add(time.Hour).Unix()}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	unsigned.Header["kid"] = "k"
	signed, err := unsigned.SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func (s *scene) startSender() {
	s.t.Helper()
	o := device("desk", serverAddr, token(s.t, "sender"))
	o.Dial = func(_ context.Context, _, address string) (net.Conn, error) { return s.net.server.dial(address) }
	o.OnSent = func(sent client.Sent) {
		if sent.Err != nil {
			s.t.Errorf("send: %v", sent.Err)
		}
		s.answered.Add(1)
	}
	var online atomic.Bool
	o.OnStatus = calm(&s.sender, func(st client.Status) { online.Store(st.State == client.Online) })
	var err error
	if s.sender, err = client.New(o); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.sender.Run(ctx) })
	s.t.Cleanup(func() { cancel(); running.Wait() })
	s.await("the sender is online", online.Load)
}

// send sends the next messages to the phone and waits until they are stored.
func (s *scene) send(count int) {
	s.t.Helper()
	for range count {
		if _, err := s.sender.Send(&client.Outgoing{ToUser: "phone", Payload: fmt.Append(nil, s.sent)}); err != nil {
			s.t.Fatal(err)
		}
		s.sent++
	}
	s.await("the messages are stored", func() bool { return int(s.answered.Load()) == s.sent })
}

// got lists the messages that the phone's app was given.
func (s *scene) got() (list []string) {
	for line := range strings.Lines(s.phone.said()) {
		if payload, ok := strings.CutPrefix(line, "got "); ok {
			list = append(list, strings.TrimSpace(payload))
		}
	}
	return list
}

// arrived waits until everything that was sent is with the phone, once and in order, and the server knows it.
func (s *scene) arrived() {
	s.t.Helper()
	s.await("everything arrives", func() bool { return len(s.got()) >= s.sent })
	for i, payload := range s.got() {
		if payload != fmt.Sprint(i) {
			s.t.Fatalf("message %s at place %d of %d", payload, i, s.sent)
		}
	}
	s.await("the phone's cursor is at the head", func() bool {
		d := s.view()
		return d.Session != nil && d.Lag == 0 && d.Cursor != nil
	})
}

// online counts how often the phone's client got a session.
func (s *scene) online() int { return strings.Count(s.phone.said(), "state online") }

// freeze stops a process; thaw lets it go on.
func (s *scene) freeze(p *process) { s.signal(p, syscall.SIGSTOP) }
func (s *scene) thaw(p *process)   { s.signal(p, syscall.SIGCONT) }

func (s *scene) signal(p *process, sig syscall.Signal) {
	s.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// await polls until a condition holds, and says what everybody said when it never does.
func (s *scene) await(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(longPatience); !holds(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) || s.server.hasEnded() {
			s.t.Fatalf("waited in vain: %s; rose: %v\ndevices: %s\nserver:\n%s\nphone:\n%s",
				what, s.rose(), s.ask("/debug/devices?user=phone"), s.server.said(), s.phone.said())
		}
	}
}

// gap waits until the phone's mapping is gone.
func (s *scene) gap() {
	s.t.Helper()
	s.await("the mapping expires", func() bool { return !s.net.mapped() })
}

// sendIntoGap sends while there is no mapping, again if the phone's Ping was faster, until the router has met a packet
// from the server that has none.
func (s *scene) sendIntoGap() {
	s.t.Helper()
	for stray := s.net.count("stray"); s.net.count("stray") == stray; {
		s.gap()
		s.disturb()
		s.send(1)
		s.await("the message meets the router", func() bool { return s.net.count("stray") > stray || len(s.got()) == s.sent })
	}
}

// deviceView is what is looked at of /debug/devices.
type deviceView struct {
	Device  string
	Cursor  *uint64
	Lag     uint64
	Session *struct {
		ConnID string `json:"conn_id"`
	}
}

func (s *scene) view() (d deviceView) {
	var list []deviceView
	if err := json.Unmarshal(s.ask("/debug/devices?user=phone"), &list); err == nil && len(list) == 1 {
		d = list[0]
	}
	return d
}

// ask reads a page of the server's HTTP, nothing while it does not answer.
func (s *scene) ask(path string) []byte {
	answer, err := s.http.Get("http://" + serverHTTP + path)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return body
}

// metrics reads every counter that has risen above 0.
func (s *scene) metrics() map[string]float64 {
	m := map[string]float64{}
	for line := range strings.Lines(string(s.ask("/metrics"))) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		var value float64
		if _, err := fmt.Sscan(text, &value); err == nil && value > 0 {
			m[name] = value
		}
	}
	return m
}

// disturb notes that the disturbance begins. From then on every rise of a path's and of a closing's counter is noted.
func (s *scene) disturb() {
	s.t.Helper()
	var before map[string]float64
	s.await("metrics", func() bool { before = s.metrics(); return len(before) > 0 })
	s.await("the phone's session", func() bool { return s.view().Session != nil })
	s.connID = s.view().Session.ConnID
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.began.IsZero()
	s.began, s.before, s.seen = time.Now(), before, map[string]time.Duration{}
	if first {
		stop := make(chan struct{})
		var watching sync.WaitGroup
		watching.Go(func() { s.watch(stop) })
		s.t.Cleanup(func() { close(stop); watching.Wait() })
	}
}

func (s *scene) watch(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(100 * time.Millisecond):
			s.note()
		}
	}
}

// note looks at what has changed since the disturbance began.
func (s *scene) note() {
	now, online := s.metrics(), s.online()
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, value := range now {
		if _, known := s.seen[name]; !known && value > s.before[name] &&
			(strings.HasPrefix(name, "lifeline_paths_total") || strings.HasPrefix(name, "lifeline_closes_total")) {
			s.seen[name] = time.Since(s.began)
		}
	}
	if online > 1 && s.back == 0 {
		s.back = time.Since(s.began)
	}
}

// probes is how many Probes the silence has cost since disturb; one for an app that lags is not among them.
func (s *scene) probes() int {
	now := s.metrics()
	s.mu.Lock()
	defer s.mu.Unlock()
	risen := func(name string) int { return int(now[name] - s.before[name]) }
	return risen(`lifeline_frames_total{direction="out",type="probe"}`) - risen("lifeline_lagging_total")
}

// rose copies what rose since disturb, by label.
func (s *scene) rose() map[string]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := map[string]time.Duration{}
	for name, after := range s.seen {
		m[strings.Split(name, `"`)[1]] = after
	}
	return m
}

func (s *scene) awaitRise(label string) {
	s.t.Helper()
	s.await(label, func() bool { _, ok := s.rose()[label]; return ok })
}
