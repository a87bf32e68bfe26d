package server

import (
	"fmt"
	"testing"
)

func process(i int) displacedKey { return displacedKey{fmt.Sprint("user-", i), "phone", 1} }

// TestWhoWasDisplacedIsForgottenAfterAMinute, by whoever comes next, so that the memory follows what happens in a minute.
func TestWhoWasDisplacedIsForgottenAfterAMinute(t *testing.T) {
	const crowd = 1000
	var d displaced
	winner := displacedKey{"winner", "phone", 1}
	for i := range crowd {
		if !d.displace(winner, process(i), 1) || !d.displace(winner, process(i), 2) {
			t.Fatalf("process %d was not displaced", i)
		}
	}
	if len(d.since) != crowd || len(d.queue) != crowd {
		t.Errorf("%d and %d are remembered, want %d", len(d.since), len(d.queue), crowd)
	}
	last := int64(2 + displacedFor)
	if !d.has(process(0), last) || d.has(process(0), last+1) || d.has(winner, last) {
		t.Error("a displaced process is not remembered for just a minute")
	}
	if d.displace(process(0), winner, last) {
		t.Error("a displaced process displaced another")
	}
	if !d.displace(process(0), winner, last+1) {
		t.Error("a minute later it may not either")
	}
	if len(d.since) != 1 || len(d.queue) != 1 || !d.has(winner, last+1) {
		t.Errorf("%d and %d are remembered, want the new one", len(d.since), len(d.queue))
	}
}

// TestNoMoreAreRememberedThanFit: in a storm the oldest are forgotten first.
func TestNoMoreAreRememberedThanFit(t *testing.T) {
	const more = 100
	var d displaced
	winner := displacedKey{"winner", "phone", 1}
	for i := range displacedMost + more {
		d.displace(winner, process(i), int64(i))
	}
	if len(d.since) != 1<<16 || len(d.queue) != 1<<16 {
		t.Errorf("%d and %d are remembered, want 65,536", len(d.since), len(d.queue))
	}
	now := int64(displacedMost + more)
	if d.has(process(more-1), now) || !d.has(process(more), now) || !d.has(process(displacedMost+more-1), now) {
		t.Error("not the oldest were forgotten")
	}
}
