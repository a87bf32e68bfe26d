package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route/redistest"
)

// devices asks for a user over a connection, and names those of his devices that it is told of.
func (l *line) devices(user string) (names []string) {
	l.t.Helper()
	u := l.presence(user).Users[0]
	if u.State != protocol.Online {
		names = append(names, u.State.String())
	}
	for _, d := range u.Devices {
		names = append(names, string(d.Device))
	}
	slices.Sort(names)
	return names
}

// devices asks a node's operators' listener the same.
func (n *node) devices(user string) (names []string) {
	n.t.Helper()
	res, err := http.Get("http://" + n.http + "/debug/presence?user=" + user)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusServiceUnavailable {
		return []string{"not told in time"}
	}
	var views []struct {
		State   string
		Devices []struct{ Device string }
	}
	if err := json.NewDecoder(res.Body).Decode(&views); err != nil || len(views) != 1 {
		n.t.Fatalf("presence by HTTP: %v, %v", views, err)
	}
	if views[0].State != "online" {
		names = append(names, views[0].State)
	}
	for _, d := range views[0].Devices {
		names = append(names, d.Device)
	}
	slices.Sort(names)
	return names
}

// TestDevicesOnTwoProcesses: each node tells, by frame and by HTTP, of all of a user's devices, wherever they are. While
// Redis stands still it tells of those of its own, within the time that a Presence is given, and of the rest when Redis
// goes on.
func TestDevicesOnTwoProcesses(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	a, b := member(t, "a", redis.Addr()), member(t, "b", redis.Addr())
	healthy(t, a, b)
	ann, dan := login(t, a.addr, "ann", "phone"), login(t, b.addr, "dan", "phone")
	held := []*line{login(t, a.addr, "bob", "phone"), login(t, a.addr, "bob", "desktop"), login(t, b.addr, "bob", "web")}
	tells := func(what string, atA, atB []string) {
		t.Helper()
		for _, who := range []struct {
			asks func(string) []string
			want []string
		}{{ann.devices, atA}, {a.devices, atA}, {dan.devices, atB}, {b.devices, atB}} {
			until(t, what, func() bool { return slices.Equal(who.asks("bob"), who.want) })
		}
	}
	all := []string{"desktop", "phone", "web"}
	tells("all devices are told of", all, all)

	redis.Stop()
	begun := time.Now()
	tells("those of the node are told of", []string{"desktop", "phone"}, []string{"web"})
	for time.Since(begun) < *testOutage {
		if got := ann.devices("bob"); !slices.Equal(got, []string{"desktop", "phone"}) {
			t.Fatalf("while Redis stands still: %q", got)
		}
	}
	if most := 3; ann.busy > most || dan.busy > most { // a standstill of the node itself may refuse one
		t.Errorf("%d and %d Presences were not answered in time", ann.busy, dan.busy)
	}
	redis.Continue()
	tells("all devices are told of again", all, all)

	held[1].leave()
	tells("one that has left is told of no more", []string{"phone", "web"}, []string{"phone", "web"})
	held[0].ping()
	held[2].ping()
}
