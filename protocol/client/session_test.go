package client

import (
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// A Close is the last frame: what comes behind it is not looked at, and the client hangs up at once [P-6.32].
func TestClientHangsUpAtAClose(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		began := time.Now()
		l.send(&protocol.Close{Status: protocol.CodeDraining.Status()}, push(1, "behind"))
		l.expectEnd()
		if took := time.Since(began); took != 0 {
			t.Errorf("the client hung up after %v", took)
		}
		w.expectHandled()
		w.within(0, time.Minute).resume(0)
	})
}

// The Close of a try that the client has given up for a better one concerns nobody, though it says stop [P-6.33].
func TestCloseOfATryThatWasGivenUp(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		old := w.at(0)
		expect[*protocol.Connect](old)
		gate := make(chan struct{})
		w.c.post(func(*loop) { <-gate }) // so that the loop hears of both at once
		w.c.NetworkChanged(protocol.Network{Key: 7})
		old.close(protocol.CodeDisplaced.Status())
		close(gate)
		l := w.at(0)
		l.begin(0)
		synctest.Wait()
		if s := w.c.Status(); s.State != Online {
			t.Errorf("status %+v", s)
		}
	})
}

// Ids are not 0 and rise, whatever is asked, and begin anew with a connection [P-4.1].
func TestRequestIDsRise(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		for range 2 {
			w.put("a", "b")
			ids := l.expectSends("a", "b")
			asked := w.ask(t.Context(), "bob")
			ids = append(ids, l.expectAsked("bob").ID)
			w.put("c")
			ids = append(ids, l.expectSends("c")...)
			for i, id := range ids {
				if id != uint64(i+1) {
					t.Fatalf("requests have the ids %d", ids)
				}
			}
			l.send(stored1(ids[0], 1), stored1(ids[1], 2), stored1(ids[3], 3), &protocol.PresenceList{ID: ids[2]})
			<-asked
			l.drop()
			l = w.within(0, time.Minute)
			l.resume(0)
		}
	})
}
