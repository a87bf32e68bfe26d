package client

import (
	"testing"
	"time"

	"lifeline/protocol"
)

// [P-6.30]
func TestRefreshComesBeforeTheEnd(t *testing.T) {
	for _, tt := range []struct {
		name         string
		life         time.Duration
		random, want float64 // of the life's end, in seconds before it
	}{
		{"a long life, early", 24 * time.Hour, 1, 300},
		{"a long life, late", 24 * time.Hour, 0, 150},
		{"ten minutes", 10 * time.Minute, 1, 120},
		{"a minute", time.Minute, 0, 6},
		{"over already", -time.Minute, 1, 0},
	} {
		r := renewal{random: always(tt.random)}
		r.expires(epochTime, tt.life)
		if got := epochTime.Add(tt.life).Sub(r.due()).Seconds(); got != tt.want {
			t.Errorf("%s: %v s before the end, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRefreshIsAskedOnce(t *testing.T) {
	r := renewal{random: always(0)}
	if r.fetch(epochTime) {
		t.Fatal("a token that never expires is refreshed")
	}
	r.expires(epochTime, time.Hour)
	now := r.due()
	if r.fetch(now.Add(-1)) || !r.fetch(now) || r.fetch(now) {
		t.Fatal("want one fetch, at its time")
	}
	r.fetched(now, false)
	if got := r.due(); !got.Equal(now.Add(renewAgain)) {
		t.Errorf("after a failure again in %v", got.Sub(now))
	}
	now = r.due()
	r.fetch(now)
	r.fetched(now, true)
	r.id = 4
	r.answered(now, &protocol.Result{ID: 3}, now)
	if r.id != 4 {
		t.Fatal("the answer to another request counts")
	}
	r.answered(now, &protocol.Result{ID: 4, Status: protocol.CodeBadToken.Status()}, now)
	if got := r.due(); !got.Equal(now.Add(renewAgain)) {
		t.Errorf("after a refusal again in %v", got.Sub(now))
	}
}

// The server's clock is an hour ahead: only what it says about its own time counts [P-3.11].
func TestRefreshGoesByTheServersClock(t *testing.T) {
	r := renewal{random: always(0), id: 4}
	server := epochTime.Add(time.Hour)
	r.answered(epochTime, &protocol.Result{ID: 4, TokenExpiryMs: uint64(server.Add(time.Minute).UnixMilli())}, server)
	if got := r.due().Sub(epochTime); got != 54*time.Second {
		t.Errorf("in %v, want in 54 s", got)
	}
	r.answered(epochTime, &protocol.Result{}, server)
	if r.due().IsZero() {
		t.Error("an answer to nothing counts")
	}
	r.id = 5
	r.answered(epochTime, &protocol.Result{ID: 5}, server)
	if !r.due().IsZero() {
		t.Error("a token without an end is refreshed")
	}
}
