package commit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"lifeline/store"
	"lifeline/store/storetest"
)

var errTransient = errors.New("only this time")

// failsOnce is an engine of which one call fails, and no other before or after it.
type failsOnce struct {
	*memEngine
	left    atomic.Int64 // calls until then
	applied bool         // a Commit fails after it has been carried out
}

func (f *failsOnce) fails() bool { return f.left.Add(-1) == 0 }

func (f *failsOnce) Commit(ctx context.Context, batch []store.PartitionOps) error {
	fails := f.fails()
	if fails && !f.applied {
		return errTransient
	}
	if err := f.memEngine.Commit(ctx, batch); err != nil || !fails {
		return err
	}
	return errTransient
}

func (f *failsOnce) Get(dst, key []byte) ([]byte, bool, error) {
	if f.fails() {
		return dst, false, errTransient
	}
	return f.memEngine.Get(dst, key)
}

func (f *failsOnce) Scan(from, to []byte, each func(key, value []byte) bool) error {
	if f.fails() {
		return errTransient
	}
	return f.memEngine.Scan(from, to, each)
}

// everything is a command of each kind, with obligations, cursors and the store's own work among them, whose error it
// returns.
func everything(s *Store, now *atomic.Int64, do func(store.Command)) error {
	send := func(n int, group string) *store.Send {
		c := &store.Send{Sender: "a", SenderDevice: "phone", ToGroup: group, ClientID: fmt.Append(nil, n), Payload: []byte("hello")}
		if group == "" {
			c.ToUser = "b"
		}
		return c
	}
	do(&store.Members{Group: "tram", Version: 1, Add: []string{"a", "b"}})
	do(&store.Members{Group: "stadium", Version: 1, Add: []string{"a", "b", "c", "d", "e"}})
	for n := range 4 {
		do(send(n, ""))
		do(send(n, "tram"))
		do(send(n, "stadium"))
	}
	do(send(1, "")) // again
	s.Ack(store.Ack{User: "b", Device: "phone", Pos: 2, HasPos: true, Leaving: true, Seen: 1})
	do(&store.Members{Group: "stadium", Version: 2, Add: []string{"f", "g", "h"}, Remove: []string{"b"}})
	s.Ack(store.Ack{User: "b", Device: "phone", Pos: 3, HasPos: true, Leaving: true, Seen: 1})
	do(&store.Forget{User: "b", Device: "phone"})
	now.Add(8 * dayMillis)
	do(send(2, "")) // its client id is free again
	err := errors.Join(s.TrimInbox("a", 3), s.TrimConversation("stadium", 2), s.Purge())
	do(send(9, "stadium"))
	return err
}

// Whatever call of the engine fails, and when: the store ends, once; what was answered is there; and it goes on whole.
func TestEveryCallOfTheEngineMayFail(t *testing.T) {
	for _, applied := range []bool{false, true} {
		calls := int64(1)
		for ; failAt(t, calls, applied); calls++ {
			if t.Failed() {
				t.Fatalf("call %d, applied %v", calls, applied)
			}
		}
		if calls < 100 {
			t.Errorf("only %d calls were tried", calls)
		}
	}
}

// failAt lets one call fail and reports whether so many calls were made.
func failAt(t *testing.T, call int64, applied bool) bool {
	engine := &failsOnce{memEngine: newMemEngine(), applied: applied}
	whole(engine.memEngine)
	engine.left.Store(call)
	var now atomic.Int64
	now.Store(30 * dayMillis)
	clock := func() time.Time { return time.UnixMilli(now.Load()) }
	fatal := make(chan error, 10)
	failed := make(chan struct{})
	s, err := Open(engine, Options{AtOnce: 2, Chunk: 2, Heads: 2, Now: clock, Fatal: func(err error) { fatal <- err; close(failed) }})
	if errors.Is(err, errTransient) {
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	promised := map[*store.Send]store.Answer{}
	own := everything(s, &now, func(c store.Command) {
		r := replies{make(chan store.Answer, 1)}
		address(c, r)
		if s.Submit(c) != store.None {
			return
		}
		select {
		case a := <-r.answers:
			if send, ok := c.(*store.Send); ok && a.Refusal == store.None {
				promised[send] = a
			}
		case <-failed:
		}
	})
	err = s.Close()
	if engine.left.Load() > 0 {
		if err != nil || len(fatal) > 0 {
			t.Errorf("nothing failed: %v", err)
		}
		return false
	}
	ended := len(fatal) == 1 && errors.Is(err, errTransient)
	reader := len(fatal) == 0 && err == nil && errors.Is(own, errTransient) // the one who looks for what has expired
	if !ended && !reader {
		t.Errorf("it ended %d times, Close said %v, its own work %v", len(fatal), err, own)
	}
	stillThere(t, engine.clone(), clock, promised)
	return true
}

func address(c store.Command, r store.Replier) {
	switch c := c.(type) {
	case *store.Send:
		c.Reply = r
	case *store.Members:
		c.Reply = r
	case *store.Forget:
		c.Reply = r
	}
}

// stillThere asks for every promised message again.
func stillThere(t *testing.T, engine *memEngine, clock func() time.Time, promised map[*store.Send]store.Answer) {
	t.Helper()
	if faults := verify(t, engine, clock()); len(faults) > 0 {
		t.Errorf("what is left has %d faults: %q", len(faults), faults[0])
	}
	again := open(t, engine, storetest.Options{Now: clock})
	defer again.Close()
	for send, a := range promised {
		retry := *send
		if got := storetest.Call(again, &retry); clock().UnixMilli()-a.Time < dedupKept && got != a {
			t.Errorf("%+v was answered %+v, and then %+v", send, a, got)
		}
	}
}
