package protocol

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// people are users in every state, with none to all of the devices that may be named.
func people(n int) []UserPresence {
	list := make([]UserPresence, n)
	for i := range list {
		u := &list[i]
		u.User = fmt.Appendf(nil, "user%d", i)
		switch u.State = PresenceState(1 + i%3); u.State {
		case Offline:
			u.LastSeenMs = 1_767_225_600_000 + uint64(i)
		case Online:
			for j := range i % (MaxPresenceDevices + 1) {
				u.Devices = append(u.Devices, DevicePresence{
					Device: fmt.Appendf(nil, "device%d", j), Platform: Platform(j % 5), Suspect: j%2 == 1,
				})
			}
		}
	}
	return list
}

// largestUser is a user of whom the most is said, in the longest words.
func largestUser(devices int) UserPresence {
	id := bytes.Repeat([]byte("x"), MaxIDBytes)
	u := UserPresence{User: id, State: -1, LastSeenMs: 1<<64 - 1}
	for range devices {
		u.Devices = append(u.Devices, DevicePresence{Device: id, Platform: -1, Suspect: true})
	}
	return u
}

// [P-1.7]: at every limit as many users go in as fit, and what comes out is the same PresenceList that Append writes.
func TestPresenceBatchStopsAtMax(t *testing.T) {
	whole := people(60)
	for max := 5; max < 3000; max += 7 {
		batch := BeginPresenceList([]byte("before"), max, 9)
		for i := range whole {
			if !batch.Add(&whole[i]) {
				break
			}
		}
		count := batch.Len()
		want := PresenceList{ID: 9, Users: whole[:count], More: count < len(whole)}
		wire := batch.End(want.More)
		if !bytes.Equal(wire, want.Append([]byte("before"))) {
			t.Fatalf("max %d: %d users differ from Append", max, count)
		}
		if _, _, err := ReadHeader(wire[len("before"):], max); err != nil {
			t.Fatalf("max %d: %v", max, err)
		}
		if want.More {
			next := PresenceList{ID: 9, Users: whole[:count+1], More: true}
			if _, _, err := ReadHeader(next.Append(nil), max); err != ErrTooLarge {
				t.Fatalf("max %d: one more than %d users would fit", max, count)
			}
		}
	}
}

// [P-6.37]: one user always fits, whatever the server's limits and however many devices there are, so a client that asks
// again behind every `more` has each answer once.
func TestLargestUserFits(t *testing.T) {
	for _, devices := range []int{0, 1, MaxPresenceDevices, 1000} {
		u := largestUser(devices)
		batch := BeginPresenceList(nil, FrameOverhead, 1<<64-1)
		if !batch.Add(&u) {
			t.Errorf("a user with %d devices does not fit %d bytes", devices, FrameOverhead)
		}
		var got PresenceList
		parseFrame(t, &got, batch.End(true))
		want := largestUser(min(devices, MaxPresenceDevices))
		if len(got.Users) != 1 || !reflect.DeepEqual(got.Users[0], want) {
			t.Errorf("%d devices: %d named", devices, len(got.Users[0].Devices))
		}
		if len(u.Devices) != devices {
			t.Errorf("the batch changed its user")
		}
	}
}

// [P-6.36], [P-6.37]: the largest question fits one frame of the default size. Its largest answer does not, and who asks
// again behind `more` is told of everybody once, in order, also where a frame has room for two users only.
func TestLargestPresence(t *testing.T) {
	question := Presence{ID: 1<<64 - 1}
	for i := range MaxPresenceUsers {
		question.Users = append(question.Users, fmt.Appendf(nil, "%0*d", MaxIDBytes, i))
	}
	if _, _, err := ReadHeader(question.Append(nil), DefaultMaxPayload+FrameOverhead); err != nil {
		t.Error(err)
	}
	for _, max := range []int{FrameOverhead, DefaultMaxPayload + FrameOverhead} {
		var told [][]byte
		frames := 0
		for more := true; more; frames++ {
			wire := answerLargest(question.Users[len(told):], max)
			if _, _, err := ReadHeader(wire, max); err != nil {
				t.Fatal(err)
			}
			var list PresenceList
			parseFrame(t, &list, wire)
			for _, u := range list.Users {
				told = append(told, u.User)
			}
			if more = list.More; more && len(list.Users) < 2 {
				t.Fatalf("max %d: %d users in a full frame", max, len(list.Users))
			}
		}
		if frames < 2 || !slices.EqualFunc(told, question.Users, bytes.Equal) {
			t.Errorf("max %d: %d users in %d frames", max, len(told), frames)
		}
	}
}

// answerLargest is a PresenceList of as many of the users as fit, with the most said of each.
func answerLargest(users [][]byte, max int) []byte {
	batch := BeginPresenceList(nil, max, 1<<64-1)
	for _, user := range users {
		u := largestUser(MaxPresenceDevices)
		u.User = user
		if !batch.Add(&u) {
			break
		}
	}
	return batch.End(batch.Len() < len(users))
}

// Lists of different shapes read into one frame: nothing of the one before is left, and nothing is allocated once the
// frame has held the largest.
func TestNoAllocationsInPresence(t *testing.T) {
	whole := people(60)
	var lists []PresenceList
	var bodies [][]byte
	for _, users := range [][]UserPresence{whole, whole[1:2], nil, whole[30:], whole[:30]} {
		list := PresenceList{ID: 9, Users: users}
		wire := list.Append(nil)
		_, n, err := ReadHeader(wire, MaxLength)
		if err != nil {
			t.Fatal(err)
		}
		lists, bodies = append(lists, list), append(bodies, wire[n:])
	}
	var list PresenceList
	for range 2 {
		for i, body := range bodies {
			if err := list.Parse(body); err != nil {
				t.Fatal(err)
			}
			if got, want := list.Append(nil), lists[i].Append(nil); !bytes.Equal(got, want) {
				t.Fatalf("list %d:\n got %s\nwant %s", i, list.AppendText(nil), lists[i].AppendText(nil))
			}
		}
	}
	buf := make([]byte, 0, 8192)
	if allocs := testing.AllocsPerRun(100, func() {
		for _, body := range bodies {
			if err := list.Parse(body); err != nil {
				t.Error(err)
			}
			batch := BeginPresenceList(buf[:0], 8192, 9)
			for i := range whole {
				batch.Add(&whole[i])
			}
			buf = batch.End(true)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func parseFrame(t *testing.T, f Frame, wire []byte) {
	t.Helper()
	h, n, err := ReadHeader(wire, MaxLength)
	if err == nil {
		err = f.Parse(wire[n : n+h.Body])
	}
	if err != nil {
		t.Fatal(err)
	}
}
