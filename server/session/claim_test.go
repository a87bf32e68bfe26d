package session

import (
	"math/rand/v2"
	"testing"
)

// [P-6.3]
func TestBeats(t *testing.T) {
	for _, tt := range []struct {
		name     string
		c, other Claim
		wins     bool
		verdict  Verdict
	}{
		{"a newer socket of the process", Claim{1, 2, 20}, Claim{1, 1, 10}, true, Superseded},
		{"an older socket of the process", Claim{1, 1, 10}, Claim{1, 2, 20}, false, Superseded},
		{"a newer socket that was overtaken on the way", Claim{1, 2, 10}, Claim{1, 1, 20}, true, Superseded},
		{"an older socket that overtook", Claim{1, 1, 20}, Claim{1, 2, 10}, false, Superseded},
		{"the same attempt, later", Claim{1, 1, 20}, Claim{1, 1, 10}, true, Superseded},
		{"the same attempt, earlier", Claim{1, 1, 10}, Claim{1, 1, 20}, false, Superseded},
		{"another process, later", Claim{1, 1, 20}, Claim{2, 9, 10}, true, Displaced},
		{"another process, earlier", Claim{2, 9, 10}, Claim{1, 1, 20}, false, Displaced},
		{"attempts of two processes say nothing", Claim{1, 9, 10}, Claim{2, 1, 20}, false, Displaced},
	} {
		if wins, verdict := tt.c.Beats(tt.other); wins != tt.wins || verdict != tt.verdict {
			t.Errorf("%s: wins %v with %d, want %v with %d", tt.name, wins, verdict, tt.wins, tt.verdict)
		}
	}
}

// Two loops that judge the same pair, each from its side, must agree on the winner and on how the loser ends. No two
// Connects of a node have the same Order.
func TestOfTwoClaimsExactlyOneWins(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		a := Claim{Instance: rng.Uint64N(3), Attempt: rng.Uint64N(3), Order: rng.Uint64N(4)}
		b := Claim{Instance: rng.Uint64N(3), Attempt: rng.Uint64N(3), Order: rng.Uint64N(4)}
		if a.Order == b.Order {
			continue
		}
		wins, verdict := a.Beats(b)
		loses, same := b.Beats(a)
		if wins == loses || verdict != same {
			t.Fatalf("%+v and %+v: %v with %d, %v with %d", a, b, wins, verdict, loses, same)
		}
		if want := a.Instance != b.Instance; want != (verdict == Displaced) {
			t.Fatalf("%+v and %+v: verdict %d", a, b, verdict)
		}
	}
}

func TestSessionsClaim(t *testing.T) {
	s := Session{Instance: 1, Attempt: 2, Order: 3}
	if got := s.Claim(); got != (Claim{Instance: 1, Attempt: 2, Order: 3}) {
		t.Errorf("got %+v", got)
	}
}
