package server

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// TestOneTooManyIsToldSo on a real socket, before it has said anything [P-6.43].
func TestOneTooManyIsToldSo(t *testing.T) {
	addr := freeListener(t)
	n := runNode(t, "tcp4://"+addr)
	var last net.Conn
	for i := range 101 {
		eventually(t, "those before are accepted", func() bool { return n.core.Connections() == i })
		conn, err := net.Dial("tcp4", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		last = conn
	}
	_ = last.SetReadDeadline(time.Now().Add(20 * time.Second))
	got, err := io.ReadAll(last)
	if err != nil {
		t.Fatal(err)
	}
	want := (&protocol.Close{Status: protocol.CodeTooManyConnections.Status()}).Append(nil)
	if !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// TestLookupsThatFindTheQueueFull: a Presence is refused and may come again.
func TestLookupsThatFindTheQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.login(t, "bob", "phone")
		q := lookup{shard: r.sh, asker: "nobody", users: []string{"bob"}} // waits for the loop, which is this test
		waiting := 0
		for range lookupWorkers + 1 {
			for ; r.core.lookups.submit(q); waiting++ {
			}
			synctest.Wait()
		}
		if waiting != 1024+lookupWorkers || r.gauge(`lifeline_queue_depth{queue="lookups"}`) != 1024 {
			t.Errorf("%d were taken, and %v wait", waiting, r.gauge(`lifeline_queue_depth{queue="lookups"}`))
		}
		ask := (&protocol.Presence{ID: 1, Users: [][]byte{[]byte("bob")}}).Append(nil)
		for range 10 {
			r.sh.Traffic(c.s, ask)
		}
		if got := r.core.meter.refusals[protocol.CodeBusy].Get(); got != 10 || c.s.Requests != 0 {
			t.Errorf("%d of 10 were refused, %d count as unanswered", got, c.s.Requests)
		}
		time.Sleep(lookupTimeout * 1024 / 2) // nobody is answered in time
		synctest.Wait()
		r.sh.Traffic(c.s, ask)
		if c.s.Requests != 1 {
			t.Errorf("once more: %d unanswered, want 1", c.s.Requests)
		}
	})
}
