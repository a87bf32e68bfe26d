package route

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// at is a record of a user's device that was seen so long ago.
func at(now time.Time, user, device string, ago time.Duration) Record {
	return Record{User: user, Device: device, LastSeen: now.Add(-ago)}
}

func closed(r Record) Record {
	r.Closed = true
	return r
}

func suspect(r Record) Record {
	r.Suspect = true
	return r
}

func TestRoute(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	const ttl = time.Minute
	for _, tt := range []struct {
		name            string
		members         []string
		records         []Record
		online, offline []string
	}{
		{"nobody", nil, nil, []string{}, []string{}},
		{"no records", []string{"bob", "alice"}, nil, []string{}, []string{"alice", "bob"}},
		{"online", []string{"alice"}, []Record{at(now, "alice", "phone", 0)}, []string{"alice"}, []string{}},
		{"aged exactly the time to live", []string{"alice"}, []Record{at(now, "alice", "phone", ttl)}, []string{"alice"}, []string{}},
		{"aged a moment more", []string{"alice"}, []Record{at(now, "alice", "phone", ttl+1)}, []string{}, []string{"alice"}},
		{"seen after now", []string{"alice"}, []Record{at(now, "alice", "phone", -time.Second)}, []string{"alice"}, []string{}},
		{"closed", []string{"alice"}, []Record{closed(at(now, "alice", "phone", 0))}, []string{}, []string{"alice"}},
		{"suspect", []string{"alice"}, []Record{suspect(at(now, "alice", "phone", 0))}, []string{"alice"}, []string{}},
		{"one device of three", []string{"alice"}, []Record{closed(at(now, "alice", "phone", 0)),
			at(now, "alice", "web", time.Second), at(now, "alice", "desktop", 2*ttl)}, []string{"alice"}, []string{}},
		{"the freshest closed, another lives", []string{"alice"}, []Record{at(now, "alice", "web", ttl),
			closed(at(now, "alice", "phone", 0))}, []string{"alice"}, []string{}},
		{"no device of three", []string{"alice"}, []Record{closed(at(now, "alice", "phone", 0)),
			closed(at(now, "alice", "web", 0)), at(now, "alice", "desktop", 2*ttl)}, []string{}, []string{"alice"}},
		{"all devices online, listed once", []string{"alice"}, []Record{at(now, "alice", "phone", 0),
			at(now, "alice", "web", 0)}, []string{"alice"}, []string{}},
		{"no member", []string{"alice"}, []Record{at(now, "mallory", "phone", 0)}, []string{}, []string{"alice"}},
		{"duplicates", []string{"bob", "alice", "bob", "alice"}, []Record{at(now, "bob", "phone", 0)}, []string{"bob"}, []string{"alice"}},
		{"empty ids", []string{"", "alice", ""}, []Record{at(now, "", "phone", 0)}, []string{}, []string{"alice"}},
		{"sorted", []string{"d", "b", "c", "a"}, []Record{at(now, "d", "x", 0), at(now, "a", "x", 0)}, []string{"a", "d"}, []string{"b", "c"}},
		{"no member at all", nil, []Record{at(now, "alice", "phone", 0)}, []string{}, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.members)
			online, offline := Route(tt.members, tt.records, now, ttl)
			if !reflect.DeepEqual(online, tt.online) || !reflect.DeepEqual(offline, tt.offline) {
				t.Errorf("got %#v and %#v, want %#v and %#v", online, offline, tt.online, tt.offline)
			}
			if !slices.Equal(tt.members, before) {
				t.Errorf("the members were changed to %q", tt.members)
			}
		})
	}
}

func TestRouteWithUnknown(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	records := []Record{at(now, "seen", "phone", 0), at(now, "doubted and seen", "phone", 0), at(now, "stale", "web", time.Hour)}
	proven := func(user string) bool { return user == "gone" || user == "seen" }
	members := []string{"seen", "stale", "doubted and seen", "gone", "doubted", "", "gone"}
	online, offline, unknown := RouteWithUnknown(members, records, proven, now, time.Minute)
	for _, tt := range []struct {
		what      string
		got, want []string
	}{
		{"online", online, []string{"doubted and seen", "seen"}},
		{"offline", offline, []string{"gone"}},
		{"unknown", unknown, []string{"doubted", "stale"}},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, tt.got, tt.want)
		}
	}
	online, offline, unknown = RouteWithUnknown(nil, nil, proven, now, time.Minute)
	if online == nil || offline == nil || unknown == nil {
		t.Error("a result is nil")
	}
}

func TestStates(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	f := Found{Now: now, TTL: time.Minute, unproven: map[string]bool{"bob": true}, Records: []Record{
		at(now, "alice", "phone", time.Minute), suspect(at(now, "alice", "web", 0)), at(now, "alice", "tv", time.Hour),
		closed(at(now, "alice", "car", 0)), at(now, "bob", "phone", 0)}}
	for _, tt := range []struct {
		user    string
		devices []string
		want    map[string]DeviceState
	}{
		{"alice", []string{"phone", "desktop", "tv", "car"}, map[string]DeviceState{"phone": DeviceActive, "web": DeviceSuspect,
			"desktop": DeviceNone, "tv": DeviceNone, "car": DeviceNone}},
		{"bob", []string{"phone", "desktop"}, map[string]DeviceState{"phone": DeviceActive, "desktop": DeviceUnknown}},
		{"carol", nil, map[string]DeviceState{}},
	} {
		if got := f.States(tt.user, tt.devices); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.user, got, tt.want)
		}
	}
	f.Err = ErrDegraded
	if got := f.States("carol", []string{"phone"}); got["phone"] != DeviceUnknown {
		t.Errorf("a table that could not be asked says %v", got)
	}
	for s, name := range map[DeviceState]string{DeviceUnknown: "unknown", DeviceNone: "none", DeviceActive: "active",
		DeviceSuspect: "suspect", DeviceLagging: "lagging"} {
		if s.String() != name {
			t.Errorf("%d is %q, want %q", s, s, name)
		}
	}
}
