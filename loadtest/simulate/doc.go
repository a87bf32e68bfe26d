// Package simulate compares heartbeat algorithms in virtual time: the same phones, in the same networks, with the same
// messages, once for each algorithm. The algorithm of this repository runs in its own code: the policy and the path of
// server/liveness, the prober of protocol/client.
//
// It opens no connection and reads no clock. It is no test of the server: packets are not simulated, a round trip takes
// no time, and what phones and networks do is a model, written down in world.go, network.go and phone.go.
package simulate
