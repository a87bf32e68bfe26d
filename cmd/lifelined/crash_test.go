package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route/redistest"
)

// writer sends numbered messages to its reader for ever, with a window of unanswered Sends, and keeps what every real
// client keeps: the client ids of what is not answered yet, in order.
type writer struct {
	name, to string
	next     int            // number of the next new message
	waiting  []int          // sent or to be sent again, in order
	acked    map[int]uint64 // number -> Seq that the server named
	answers  *atomic.Int64  // of all writers
	faults   []string
}

const writerWindow = 8

// run sends until the connection breaks.
func (w *writer) run(addr string, attempt int) {
	conn, r, _, err := enter(addr, w.name, attempt, nil, 0)
	if err != nil {
		return
	}
	defer conn.Close()
	for _, n := range w.waiting {
		if _, err := conn.Write(w.frame(n)); err != nil {
			return
		}
	}
	for {
		for len(w.waiting) < writerWindow {
			w.waiting = append(w.waiting, w.next)
			if _, err := conn.Write(w.frame(w.next)); err != nil {
				w.next++
				return
			}
			w.next++
		}
		f, err := readFrame(r)
		if err != nil {
			return
		}
		if ack, ok := f.(*protocol.Sendack); ok {
			w.take(ack)
		}
	}
}

func (w *writer) take(ack *protocol.Sendack) {
	if ack.Status.Failed() {
		w.faults = append(w.faults, fmt.Sprintf("refused: %s", ack.AppendText(nil)))
		return
	}
	n := int(ack.ID)
	if len(w.waiting) == 0 || w.waiting[0] != n {
		w.faults = append(w.faults, fmt.Sprintf("message %d answered before those ahead of it", n))
		return
	}
	w.waiting = w.waiting[1:]
	w.acked[n] = ack.Seq
	w.answers.Add(1)
}

func (w *writer) frame(n int) []byte {
	f := protocol.Send{ID: uint64(n), To: protocol.ToUser, ToID: []byte(w.to), ClientID: fmt.Appendf(nil, "%s-%d", w.name, n),
		Payload: fmt.Append(nil, n)}
	return f.Append(nil)
}

// reader keeps what a device persists: its position and the messages it has, in one step.
type reader struct {
	name       string
	epoch      []byte
	pos        uint64
	numbers    []int    // payloads, in order of arrival, without what came again
	seqs       []uint64 // their Seqs
	ids        map[string]bool
	duplicates int
	faults     []string
}

// run reads until the connection breaks, or, with untilHead, until it has what was there when it began.
func (d *reader) run(addr string, attempt int, untilHead bool) {
	if attempt%4 == 3 {
		d.pos -= min(d.pos, 20) // restored from an older backup, but for its messages
	}
	conn, r, hello, err := enter(addr, d.name, attempt, d.epoch, d.pos)
	if err != nil {
		if untilHead { // nobody kills the server
			d.faults = append(d.faults, fmt.Sprintf("log in: %v", err))
		}
		return
	}
	defer conn.Close()
	if d.epoch != nil && hello.Reset {
		d.faults = append(d.faults, fmt.Sprintf("reset at %d: %s", d.pos, hello.AppendText(nil)))
	}
	d.epoch = append([]byte(nil), hello.Epoch...)
	expect := hello.Start
	ack := func() error {
		_, err := conn.Write((&protocol.Ack{Pos: d.pos, HasPos: true}).Append(nil))
		return err
	}
	if ack() != nil {
		return
	}
	for !untilHead || expect < hello.Head {
		f, err := readFrame(r)
		if err != nil {
			if untilHead {
				d.faults = append(d.faults, fmt.Sprintf("at %d of %d: %v", expect, hello.Head, err))
			}
			return
		}
		push, ok := f.(*protocol.Push)
		if !ok {
			continue
		}
		for i := range push.Entries {
			e := &push.Entries[i]
			if expect++; e.Pos != expect {
				d.faults = append(d.faults, fmt.Sprintf("position %d where %d was due", e.Pos, expect))
			}
			d.persist(e)
		}
		if ack() != nil {
			return
		}
	}
}

func (d *reader) persist(e *protocol.Entry) {
	d.pos = max(d.pos, e.Pos)
	if e.Kind != protocol.EntryMessage {
		return
	}
	if d.ids[string(e.Message.MessageID)] {
		d.duplicates++
		return
	}
	d.ids[string(e.Message.MessageID)] = true
	var n int
	if _, err := fmt.Sscan(string(e.Message.Payload), &n); err != nil {
		d.faults = append(d.faults, fmt.Sprintf("payload %q", e.Message.Payload))
	}
	d.numbers = append(d.numbers, n)
	d.seqs = append(d.seqs, e.Message.Seq)
}

// enter dials and logs in, with a position when an epoch is known.
func enter(addr, user string, attempt int, epoch []byte, pos uint64) (net.Conn, *bufio.Reader, *protocol.Connack, error) {
	conn, err := net.DialTimeout("tcp4", addr, patience)
	if err != nil {
		return nil, nil, nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	f := connect(user, "phone")
	f.Attempt = uint64(attempt)
	f.Epoch, f.Pos, f.HasPos = epoch, pos, epoch != nil
	if _, err = conn.Write(f.Append(nil)); err == nil {
		r := bufio.NewReader(conn)
		var got protocol.Frame
		if got, err = readFrame(r); err == nil {
			if hello, ok := got.(*protocol.Connack); ok {
				return conn, r, hello, nil
			}
			err = fmt.Errorf("got %s", got.AppendText(nil))
		}
	}
	conn.Close()
	return nil, nil, nil, err
}

// TestKillUnderLoad kills the server with SIGKILL while clients write and read, again and again. As the clients see it:
// every message whose Send was answered arrives [P-6.17], in order, at the Seq its sender was told; positions have no hole and
// never step back; what arrives twice is dropped by its message id and counted.
func TestKillUnderLoad(t *testing.T) {
	const pairs = 8
	addr, dir := redistest.FreeAddr(t), t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	var answers atomic.Int64
	var writers []*writer
	var readers []*reader
	for i := range pairs {
		w := &writer{name: fmt.Sprint("writer-", i), to: fmt.Sprint("reader-", i), acked: map[int]uint64{}, answers: &answers}
		writers = append(writers, w)
		readers = append(readers, &reader{name: w.to, ids: map[string]bool{}})
	}
	all := func(run func(i int)) {
		var running sync.WaitGroup
		for i := range pairs {
			running.Go(func() { run(i) })
		}
		running.Wait()
	}
	s := serveOn(t, addr, "", "--store", "pebble", "--data-dir", dir)
	all(func(i int) { readers[i].run(addr, 0, true) }) // a first log-in, so that every message has a position to come at
	s.kill()
	for round := range killRounds {
		s := serveOn(t, addr, "", "--store", "pebble", "--data-dir", dir)
		var running sync.WaitGroup
		for i := range pairs {
			running.Go(func() { writers[i].run(addr, round+1) })
			running.Go(func() { readers[i].run(addr, round+1, false) })
		}
		if round%2 == 0 { // on a slow machine the others may end before anything is stored
			before := answers.Load()
			eventually(t, "messages are answered", func() bool { return answers.Load() >= before+2*pairs })
		}
		<-time.After(time.Duration(20+rng.IntN(150)) * time.Millisecond)
		s.kill()
		running.Wait()
	}
	serveOn(t, addr, "", "--store", "pebble", "--data-dir", dir)
	all(func(i int) { readers[i].run(addr, killRounds+1, true) })
	acked, duplicates := 0, 0
	for i := range pairs {
		acked += len(writers[i].acked)
		duplicates += readers[i].duplicates
		judge(t, writers[i], readers[i])
	}
	t.Logf("%d kills, %d messages answered, %d arrived twice and were dropped", killRounds, acked, duplicates)
	if acked < killRounds*pairs {
		t.Errorf("only %d messages were answered: the test has proven little", acked)
	}
}

// judge holds a writer's answers against what its reader has.
func judge(t *testing.T, w *writer, d *reader) {
	t.Helper()
	for _, fault := range append(w.faults, d.faults...) {
		t.Errorf("%s -> %s: %s", w.name, d.name, fault)
	}
	for i, n := range d.numbers {
		if n != i || d.seqs[i] != uint64(i+1) {
			t.Fatalf("%s has message %d with Seq %d at place %d", d.name, n, d.seqs[i], i)
		}
	}
	for n, seq := range w.acked {
		if n >= len(d.numbers) || d.seqs[n] != seq {
			t.Errorf("%s: message %d was answered with Seq %d and is not with %s, which has %d", w.name, n, seq, d.name, len(d.numbers))
		}
	}
}
