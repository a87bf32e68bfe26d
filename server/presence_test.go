package server

import (
	"errors"
	"testing"
	"time"

	"lifeline/protocol"
	"lifeline/server/route"
)

// TestPresenceIsAUnion: a user's devices are those that are here and those that the table has elsewhere; what is here
// counts for its device, and a table that cannot be asked takes nothing from what is here.
func TestPresenceIsAUnion(t *testing.T) {
	r := newRig(t)
	now := time.UnixMilli(1_000_000)
	phone, web := PresentDevice{Device: "phone", Lagging: true}, PresentDevice{Device: "web"}
	elsewhere := func(device string, seen time.Time) route.Record {
		return route.Record{User: "bob", Device: device, Node: "b", Suspect: true, LastSeen: seen}
	}
	table := func(records ...route.Record) *route.Found {
		return &route.Found{Now: now, TTL: time.Hour, Records: records}
	}
	tv := PresentDevice{Device: "tv", Suspect: true}
	for _, tt := range []struct {
		what  string
		here  []PresentDevice
		found *route.Found
		state PresenceState
		want  []PresentDevice
	}{
		{"here only", []PresentDevice{phone, web}, table(), Online, []PresentDevice{phone, web}},
		{"elsewhere only", nil, table(elsewhere("tv", now)), Online, []PresentDevice{tv}},
		{"both", []PresentDevice{phone}, table(elsewhere("tv", now)), Online, []PresentDevice{phone, tv}},
		{"one device in both", []PresentDevice{phone}, table(elsewhere("phone", now), elsewhere("tv", now)), Online, []PresentDevice{phone, tv}},
		{"too old elsewhere", []PresentDevice{phone}, table(elsewhere("tv", now.Add(-2*time.Hour))), Online, []PresentDevice{phone}},
		{"another user's", []PresentDevice{phone}, table(route.Record{User: "ann", Device: "tv", LastSeen: now}), Online, []PresentDevice{phone}},
		{"here, and no table", []PresentDevice{phone}, &route.Found{Err: errors.New("away")}, Online, []PresentDevice{phone}},
		{"no table", nil, &route.Found{Err: errors.New("away")}, Unknown, nil},
		{"nowhere, and nothing is stored of him", nil, table(), Unknown, nil},
	} {
		got, err := r.core.presence("bob", &sight{here: map[string][]PresentDevice{"bob": tt.here}, found: tt.found})
		if err != nil {
			t.Fatalf("%s: %v", tt.what, err)
		}
		if got.User != "bob" || got.State != tt.state || len(got.Devices) != len(tt.want) {
			t.Errorf("%s: got %+v", tt.what, got)
			continue
		}
		for i, want := range tt.want {
			if got.Devices[i] != want {
				t.Errorf("%s: device %d is %+v, want %+v", tt.what, i, got.Devices[i], want)
			}
		}
	}
}

// TestASuspendingAppIsSuspect: its own node says at once what it has the table say.
func TestASuspendingAppIsSuspect(t *testing.T) {
	r := newRig(t)
	c := r.login(t, "bob", "phone")
	for _, activity := range []protocol.Activity{protocol.Suspending, protocol.Foreground} {
		r.sh.Traffic(c.s, (&protocol.State{Activity: activity}).Append(nil))
		got := make(map[string][]PresentDevice)
		r.sh.present([]string{"bob"}, got)
		want := activity == protocol.Suspending
		if devices := got["bob"]; len(devices) != 1 || devices[0].Suspect != want || r.sh.routeSession(c.s).Suspect != want {
			t.Errorf("%v: %+v here, suspect in the table %v", activity, devices, r.sh.routeSession(c.s).Suspect)
		}
	}
}

// TestAUserWhoIsNotWhereHeShouldBeIsUnknown: a loop that may have him and does not may have had him until just now, and
// where he has gone was not looked at.
func TestAUserWhoIsNotWhereHeShouldBeIsUnknown(t *testing.T) {
	r := newRig(t)
	bob := r.login(t, "bob", "phone")
	r.sh.Traffic(bob.s, (&protocol.Ack{Pos: 0, HasPos: true}).Append(nil))
	r.sh.Closed(bob.s, nil)
	hash := r.core.dir.Hash("bob")
	for _, want := range []PresenceState{Offline, Unknown} {
		if want == Unknown {
			r.core.dir.Join(hash, 0)
		}
		found := make(chan PresenceState, 1)
		go func() {
			list, err := r.core.Presence(t.Context(), "ann", []string{"bob"})
			if err != nil {
				t.Error(err)
			}
			found <- list[0].State
		}()
		var got PresenceState
		for answered := false; !answered; {
			select {
			case got = <-found:
				answered = true
			case <-r.woke:
				r.sh.Run()
			}
		}
		if got != want {
			t.Errorf("bob is %v, want %v", got, want)
		}
	}
}
