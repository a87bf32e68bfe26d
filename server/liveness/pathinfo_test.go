package liveness

import "testing"

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name string
		info PathInfo
		want Verdict
	}{
		{"not asked, or behind a proxy", PathInfo{}, Undecided},
		{"a proxy with numbers", PathInfo{Queued: 10, Backoff: 9, AckAge: 100 * sec}, Undecided},
		{"the Probe was taken", PathInfo{Known: true, AckAge: sec}, AppFrozen},
		{"the Probe was taken long ago", PathInfo{Known: true, AckAge: 1000 * sec}, AppFrozen},
		{"no room, and its kernel says so", PathInfo{Known: true, Queued: 1000, Backoff: 4, AckAge: 15 * sec}, SlowReader},
		{"on its way", PathInfo{Known: true, Queued: 2, AckAge: 60 * sec}, Undecided},
		{"sent once more", PathInfo{Known: true, Queued: 2, Backoff: 1, AckAge: 60 * sec}, Undecided},
		{"sent again and again", PathInfo{Known: true, Queued: 2, Backoff: 2, AckAge: 15*sec + 1}, PathDead},
	} {
		if got := tt.info.Verdict(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
