package server

import "testing"

func TestGCPercent(t *testing.T) {
	for _, tt := range []struct{ connections, want int }{
		{0, 100}, {4_999, 100}, {5_000, 50}, {49_999, 50}, {50_000, 25}, {199_999, 25}, {200_000, 16}, {1_000_000, 16},
	} {
		if got := gcPercent(tt.connections); got != tt.want {
			t.Errorf("%d connections: %d, want %d", tt.connections, got, tt.want)
		}
	}
}
