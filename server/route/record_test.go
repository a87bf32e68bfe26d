package route

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestBeats(t *testing.T) {
	early, late := time.UnixMilli(1000), time.UnixMilli(2000)
	for _, tt := range []struct {
		name    string
		r, old  Record
		wins    bool
		verdict Verdict
	}{
		{"another process on another node, later",
			Record{Node: "a", Instance: 1, Attempt: 1, Since: late}, Record{Node: "b", Instance: 2, Attempt: 9, Since: early}, true, Displaced},
		{"another process on another node, earlier",
			Record{Node: "a", Instance: 1, Attempt: 9, Since: early}, Record{Node: "b", Instance: 2, Attempt: 1, Since: late}, false, Displaced},
		{"at the same moment, the greater node",
			Record{Node: "b", Instance: 1, Since: late}, Record{Node: "a", Instance: 2, Since: late}, true, Displaced},
		{"at the same moment, the lesser node",
			Record{Node: "a", Instance: 1, Since: late}, Record{Node: "b", Instance: 2, Since: late}, false, Displaced},
		{"the same process, a higher attempt, though earlier",
			Record{Node: "a", Instance: 1, Attempt: 2, Since: early}, Record{Node: "b", Instance: 1, Attempt: 1, Since: late}, true, Superseded},
		{"the same process, a lower attempt, though later",
			Record{Node: "a", Instance: 1, Attempt: 1, Since: late}, Record{Node: "b", Instance: 1, Attempt: 2, Since: early}, false, Superseded},
		{"the same attempt, later",
			Record{Node: "a", Instance: 1, Attempt: 1, Since: late}, Record{Node: "b", Instance: 1, Attempt: 1, Since: early}, true, Superseded},
		{"on one node by order, whatever the time",
			Record{Node: "a", Instance: 1, Order: 2, Since: early}, Record{Node: "a", Instance: 2, Order: 1, Since: late}, true, Displaced},
		{"on one node by order, the other way",
			Record{Node: "a", Instance: 1, Order: 1, Since: late}, Record{Node: "a", Instance: 2, Order: 2, Since: early}, false, Displaced},
		{"on one node and of one process by attempt, whatever the order",
			Record{Node: "a", Instance: 1, Attempt: 2, Order: 1}, Record{Node: "a", Instance: 1, Attempt: 1, Order: 2}, true, Superseded},
		{"another incarnation of the node",
			Record{Node: "a", Incarnation: 1, Instance: 1, Attempt: 1, Since: early},
			Record{Node: "a", Incarnation: 2, Instance: 1, Attempt: 9, Order: 9, Since: late}, true, Superseded},
		{"an instance says nothing of another device",
			Record{Node: "a", Device: "new", Instance: 1, Attempt: 1, Since: late},
			Record{Node: "b", Device: "old", Instance: 1, Attempt: 9, Since: early}, true, Displaced},
	} {
		if wins, verdict := tt.r.beats(&tt.old); wins != tt.wins || verdict != tt.verdict {
			t.Errorf("%s: wins %v with %d, want %v with %d", tt.name, wins, verdict, tt.wins, tt.verdict)
		}
	}
}

// Whichever of two sessions is registered first, the same one must be in the table at the end, and the loser must end in
// the same way.
func TestOfTwoRecordsExactlyOneWins(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		random := func() Record {
			node := rng.IntN(3)
			return Record{Node: string(rune('a' + node)), Device: string(rune('x' + rng.IntN(2))), Incarnation: uint64(node),
				Instance: rng.Uint64N(2), Attempt: rng.Uint64N(3), Order: rng.Uint64N(4), Since: time.UnixMilli(rng.Int64N(3))}
		}
		a, b := random(), random()
		if a.Node == b.Node && a.Order == b.Order {
			continue // the same session
		}
		wins, verdict := a.beats(&b)
		loses, same := b.beats(&a)
		if wins == loses || verdict != same {
			t.Fatalf("%+v and %+v: %v with %d, %v with %d", a, b, wins, verdict, loses, same)
		}
	}
}

// Nodes of different versions must agree on the bucket of a user.
func TestBucket(t *testing.T) {
	for user, want := range map[string]int{"": 1, "alice": 60, "bob": 13, "漢字": 31} {
		if got := Bucket(user); got != want {
			t.Errorf("Bucket(%q) = %d, want %d", user, got, want)
		}
	}
	var users [Buckets]int
	for i := range 64_000 {
		users[Bucket(string(rune('a'+i%26))+time.Duration(i).String())]++
	}
	for b, n := range users {
		if n < 800 || n > 1200 {
			t.Errorf("bucket %d has %d users of 64,000", b, n)
		}
	}
}

func TestRefused(t *testing.T) {
	for o, want := range map[Outcome]Verdict{Failed: 0, Created: 0, Kept: 0, TookOver: 0, RefusedSuperseded: Superseded, RefusedDisplaced: Displaced} {
		if got := o.Refused(); got != want {
			t.Errorf("%d: got %d, want %d", o, got, want)
		}
	}
}
