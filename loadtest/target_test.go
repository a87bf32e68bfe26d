package loadtest

import "testing"

// One file may name the server for all commands, so what lifelinectl takes is taken.
func TestTargetAddress(t *testing.T) {
	for _, tt := range []struct{ server, network, hostPort string }{
		{"127.0.0.1:7400", "tcp", "127.0.0.1:7400"},
		{"tcp4://127.0.0.1:7400", "tcp4", "127.0.0.1:7400"},
		{"tcp6://[::1]:7400", "tcp6", "[::1]:7400"},
		{"tcp://chat.example:7400", "tcp", "chat.example:7400"},
		{"udp://127.0.0.1:7400", "", ""},
		{"127.0.0.1", "", ""},
		{"", "", ""},
	} {
		network, hostPort, err := (&Target{Server: tt.server}).address()
		if network != tt.network || hostPort != tt.hostPort || (err == nil) != (tt.network != "") {
			t.Errorf("%q: %q %q %v", tt.server, network, hostPort, err)
		}
	}
}
