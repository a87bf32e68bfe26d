package client

import (
	"strings"
	"testing"
)

func named(list string) (out [][]byte) {
	for _, host := range strings.Fields(list) {
		out = append(out, []byte(host))
	}
	return out
}

// Each step is what happened, and where the next try goes [P-6.34].
func TestHostsRotate(t *testing.T) {
	h := hosts{configured: []string{"a:7400", "a:443"}}
	for i, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "a:7400"},
		{h.failed, "a:443"},
		{h.failed, "a:7400"},
		{func() { h.learned(named("b:7400 a:7400")) }, "a:7400"},
		{h.failed, "a:443"},
		{h.failed, "b:7400"},
		{func() { h.moved(named("c:7400")) }, "c:7400"},
		{h.failed, "a:7400"},
		{func() { h.moved(nil) }, "a:7400"},
		{func() { h.moved(named("http://c c")) }, "a:7400"},
		{func() { h.learned(named("d:1")) }, "a:7400"},
		{h.failed, "a:443"},
		{h.failed, "d:1"},
	} {
		step.do()
		if got := h.current(); got != step.want {
			t.Fatalf("step %d: %s, want %s (of %v)", i, got, step.want, h.list())
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct{ address, network, hostPort string }{
		{"tcp4://127.0.0.1:7400", "tcp4", "127.0.0.1:7400"},
		{"tcp6://[::1]:7400", "tcp6", "[::1]:7400"},
		{"tcp://im.example.com:443", "tcp", "im.example.com:443"},
		{"im.example.com:443", "tcp", "im.example.com:443"},
	} {
		network, hostPort, err := splitAddress(tt.address)
		if err != nil || network != tt.network || hostPort != tt.hostPort {
			t.Errorf("%s: %s %s %v", tt.address, network, hostPort, err)
		}
	}
	for _, bad := range []string{"", "im.example.com", "http://im.example.com:443", "im.example.com:", "tcp4://::1:7400"} {
		if network, hostPort, err := splitAddress(bad); err == nil {
			t.Errorf("%q became %s %s", bad, network, hostPort)
		}
	}
}
