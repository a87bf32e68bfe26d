package commit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/store"
	"lifeline/store/storetest"
)

// stored reads a cursor as it is in the engine.
func (o *opened) stored(t *testing.T, user, dev string) (c cursor, found bool) {
	t.Helper()
	value, found, err := o.engine.Get(nil, appendCursorKey(nil, partitionOf(user), user, dev))
	if err != nil || found && c.parse(value) != nil {
		t.Fatalf("%v, %q", err, value)
	}
	return c, found
}

func (o *opened) ackPos(user, dev string, pos uint64) {
	o.Ack(store.Ack{User: user, Device: dev, Platform: 3, Pos: pos, HasPos: true})
}

// Acks of a device are one write a quarter of a second later; at the end of a session at once, with the time.
func TestCursorsAreFlushedLazily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newMemEngine(), storetest.Options{})
		defer s.Close()
		synctest.Wait()
		before := s.engine.commits
		for pos := range uint64(100) {
			s.ackPos("ann", "phone", 100-pos)
			s.ackPos("ann", "desktop", pos)
		}
		time.Sleep(flushAfter - time.Millisecond)
		synctest.Wait()
		if c, found := s.stored(t, "ann", "phone"); found {
			t.Errorf("stored after %v: %+v", flushAfter-time.Millisecond, c)
		}
		if start, err := s.Start("ann", "phone"); err != nil || start.Cursor != 100 {
			t.Errorf("before it is stored: %+v, %v", start, err)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		phone, _ := s.stored(t, "ann", "phone")
		desktop, _ := s.stored(t, "ann", "desktop")
		if phone != (cursor{pos: 100, platform: 3}) || desktop.pos != 99 || s.engine.commits != before+1 {
			t.Errorf("after %v: %+v, %+v in %d batches", flushAfter, phone, desktop, s.engine.commits-before)
		}

		s.ackPos("ann", "phone", 101)
		s.ackPos("ann", "desktop", 100)
		s.Ack(store.Ack{User: "ann", Device: "phone", Leaving: true, Seen: 77})
		synctest.Wait()
		phone, _ = s.stored(t, "ann", "phone")
		desktop, _ = s.stored(t, "ann", "desktop")
		if phone != (cursor{pos: 101, platform: 3, seen: 77}) || desktop.pos != 99 {
			t.Errorf("at the end of the phone's session: %+v, %+v", phone, desktop)
		}
	})
}

// An older Pos, seen without a cursor, or nothing new writes nothing.
func TestCursorsMoveForwardOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newMemEngine(), storetest.Options{})
		defer s.Close()
		s.ackPos("ann", "phone", 10)
		time.Sleep(time.Second)
		synctest.Wait()
		before := s.engine.commits
		s.ackPos("ann", "phone", 9)
		s.ackPos("ann", "phone", 10)
		s.Ack(store.Ack{User: "ann", Device: "tablet", Leaving: true, Seen: 5})
		s.ackPos("ann", "not\x00valid", 5)
		time.Sleep(time.Second)
		synctest.Wait()
		if c, _ := s.stored(t, "ann", "phone"); c.pos != 10 || s.engine.commits != before {
			t.Errorf("%+v, %d batches", c, s.engine.commits-before)
		}
		if c, found := s.stored(t, "ann", "tablet"); found {
			t.Errorf("a session without an Ack left %+v", c)
		}
	})
}

// What was acknowledged before a Forget is forgotten, what came after it stays, however they are batched.
func TestForgetAmongAcks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, leaving := range []bool{false, true} {
			for _, wait := range []time.Duration{0, time.Second} {
				s := open(t, newMemEngine(), storetest.Options{})
				s.Ack(store.Ack{User: "ann", Device: "phone", Pos: 10, HasPos: true, Leaving: leaving})
				time.Sleep(wait)
				answer := make(chan store.Answer, 1)
				s.Submit(&store.Forget{User: "ann", Device: "phone", Reply: replies{answer}})
				s.Ack(store.Ack{User: "ann", Device: "phone", Pos: 3, HasPos: true, Leaving: leaving})
				<-answer
				time.Sleep(time.Second)
				synctest.Wait()
				if c, _ := s.stored(t, "ann", "phone"); c.pos != 3 {
					t.Errorf("leaving %v, after %v: stored %+v", leaving, wait, c)
				}
				if start, err := s.Start("ann", "phone"); err != nil || start.Cursor != 3 {
					t.Errorf("leaving %v, after %v: %+v, %v", leaving, wait, start, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// Many devices at once, whether they stay or leave, are stored over several batches, each with as many as may delay a send,
// all of them, and Close waits for the last.
func TestManyCursors(t *testing.T) {
	const devices = 3*maxFlush + 10
	for _, leaving := range []bool{false, true} {
		t.Run(fmt.Sprint("leaving ", leaving), func(t *testing.T) {
			s, most := measured(t)
			s.engine.mu.Lock() // the committer stands still, or it would write them as fast as they come
			for n := range devices {
				s.Ack(store.Ack{User: fmt.Sprint("user", n), Device: "phone", Pos: uint64(n), HasPos: true, Leaving: leaving})
			}
			if n := s.Load().Cursors; n > devices {
				t.Errorf("%d devices are kept in mind", n)
			}
			s.engine.mu.Unlock()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if most.Keys <= maxFlush || most.Keys > maxFlush+store.Partitions {
				t.Errorf("at most %d keys were in a batch, with the applied indexes", most.Keys)
			}
			again := open(t, s.engine.clone(), storetest.Options{})
			defer again.Close()
			for n := range devices {
				if start, err := again.Start(fmt.Sprint("user", n), "phone"); err != nil || !start.HasCursor || start.Cursor != uint64(n) {
					t.Fatalf("device %d: %+v, %v", n, start, err)
				}
			}
		})
	}
}
