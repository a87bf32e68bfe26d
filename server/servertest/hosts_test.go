package servertest

import (
	"fmt"
	"testing"

	"lifeline/protocol"
	"lifeline/server"
)

// TestClientsAreToldWhereToGo with every Connack and every Close, in the order that was configured [P-6.34].
func TestClientsAreToldWhereToGo(t *testing.T) {
	for _, hosts := range [][]string{nil, {"im2.example.net:443", "im1.example.net:443"}} {
		script(t, func(t *testing.T) {
			n := Start(t, 1, Room(1), func(o *server.CoreOptions) { o.Hosts = hosts })
			want := fmt.Sprintf("%q", hosts)
			for range 2 {
				bob, hello := n.Login(0, Login{User: "bob", Device: "phone"})
				late := Expect[*protocol.Close](n.knock(0))
				bob.Send(&protocol.Bye{})
				bye := Expect[*protocol.Close](bob)
				for what, got := range map[string][][]byte{"Connack": hello.Hosts, "the Close of one who leaves": bye.Hosts, "the Close of one too many": late.Hosts} {
					if fmt.Sprintf("%q", got) != want {
						t.Errorf("%s names %q, want %s", what, got, want)
					}
				}
				nothingLeft(t, n)
			}
		})
	}
}
