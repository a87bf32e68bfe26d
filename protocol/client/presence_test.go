package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

type presenceResult struct {
	list []UserPresence
	err  error
}

// ask asks for presence and has the answer in a channel.
func (w *world) ask(ctx context.Context, users ...string) chan presenceResult {
	result := make(chan presenceResult, 1)
	go func() {
		list, err := w.c.Presence(ctx, users)
		result <- presenceResult{list, err}
	}()
	return result
}

// expectAsked waits for a question about these users.
func (l *line) expectAsked(users string) *protocol.Presence {
	l.w.t.Helper()
	f := expect[*protocol.Presence](l)
	var got []string
	for _, u := range f.Users {
		got = append(got, string(u))
	}
	if strings.Join(got, " ") != users {
		l.w.t.Fatalf("the client asked of %q, want %s", got, users)
	}
	return f
}

func seen(user string, state protocol.PresenceState) protocol.UserPresence {
	return protocol.UserPresence{User: []byte(user), State: state, LastSeenMs: 1_700_000_000_000,
		Devices: []protocol.DevicePresence{{Device: []byte("phone"), Platform: protocol.IOS, Suspect: true}}}
}

// A list may be full: the rest is asked for [P-6.37]. A line that breaks in between makes what it brought old. What goes
// with no state is not told [P-6.38], and what is not known is unknown [P-6.39].
func TestPresence(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		result := w.ask(t.Context(), "alice", "bob", "alice", "carol", "dave")
		f := l.expectAsked("alice bob carol dave")
		l.send(&protocol.PresenceList{ID: f.ID, Users: []protocol.UserPresence{seen("alice", protocol.Offline)}, More: true})
		l.expectAsked("bob carol dave")
		l.drop()
		l = w.within(0, time.Minute)
		l.resume(0)
		f = l.expectAsked("alice bob carol dave")
		l.send(&protocol.PresenceList{ID: f.ID, More: true, Users: []protocol.UserPresence{
			seen("alice", protocol.Online), seen("bob", protocol.Offline)}})
		f = l.expectAsked("carol dave")
		l.send(&protocol.PresenceList{ID: f.ID, Users: []protocol.UserPresence{
			seen("carol", protocol.PresenceUnspecified), seen("dave", 77), seen("eve", protocol.Online)}})
		r := <-result
		want := []UserPresence{
			{User: "alice", State: protocol.Online, Devices: []DevicePresence{{"phone", protocol.IOS, true}}},
			{User: "bob", State: protocol.Offline, LastSeen: time.UnixMilli(1_700_000_000_000)},
			{User: "carol", State: protocol.PresenceUnknown},
			{User: "dave", State: protocol.PresenceUnknown},
		}
		if r.err != nil || !reflect.DeepEqual(r.list, want) {
			t.Errorf("got %+v %v", r.list, r.err)
		}
		l.quiet(time.Minute)
	})
}

// A server with a small payload limit has small frames: the question is cut [P-6.36].
func TestPresenceFitsTheServersFrames(t *testing.T) {
	var users []string
	for n := range 200 {
		users = append(users, fmt.Sprintf("%064d", n))
	}
	for _, most := range []uint32{1, 100, 2049, 3 << 10, 34 << 10} {
		play(t, nil, func(t *testing.T, w *world) {
			l := w.at(0)
			l.begin(0, func(f *protocol.Connack) { f.Limits.MaxFrame = most })
			result := w.ask(t.Context(), users...)
			for left := users; len(left) > 0; {
				f := expect[*protocol.Presence](l)
				if length := len(f.Append(nil)) - 2; length > int(most) && len(f.Users) > 1 {
					t.Fatalf("a frame of %d bytes, and the server takes %d", length, most)
				}
				if most == 34<<10 && len(f.Users) != 200 {
					t.Fatalf("asked of %d users, and all fit", len(f.Users))
				}
				answer := &protocol.PresenceList{ID: f.ID}
				for i, u := range f.Users {
					if string(u) != left[i] {
						t.Fatalf("asked of %s, want %s", u, left[i])
					}
					answer.Users = append(answer.Users, seen(string(u), protocol.Online))
				}
				left = left[len(f.Users):]
				l.send(answer)
			}
			r := <-result
			if r.err != nil || len(r.list) != 200 || r.list[199].User != users[199] {
				t.Errorf("%d answers, %v", len(r.list), r.err)
			}
		})
	}
}

// [P-6.36]: a server without presence is not asked again on this connection.
func TestPresenceIsRefused(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		refuse := func(f *protocol.Presence, code protocol.Code) {
			l.send(&protocol.Error{ID: f.ID, FrameType: uint32(protocol.TypePresence), Status: code.Status()})
		}
		result := w.ask(t.Context(), "alice")
		refuse(l.expectAsked("alice"), protocol.CodeBusy)
		began := time.Now()
		f, at := expectAt[*protocol.Presence](l)
		if at.Sub(began) != 1500*time.Millisecond {
			t.Errorf("asked again after %v, want the hint's 1.5 s", at.Sub(began))
		}
		second := w.ask(t.Context(), "bob")
		l.quiet(time.Minute) // one at a time
		refuse(f, protocol.CodeUnsupported)
		refusal(t, (<-result).err, protocol.CodeUnsupported)
		refusal(t, (<-second).err, protocol.CodeUnsupported)
		refusal(t, (<-w.ask(t.Context(), "carol")).err, protocol.CodeUnsupported) // not asked again on this connection
		l.quiet(time.Minute)
		l.drop()
		l = w.within(0, time.Minute)
		l.resume(0)
		result = w.ask(t.Context(), "alice")
		refuse(l.expectAsked("alice"), protocol.CodeBadRange)
		refusal(t, (<-result).err, protocol.CodeBadRange)
		w.ask(t.Context(), "dave")
		l.expectAsked("dave")
	})
}

func TestPresenceThatNobodyWaitsFor(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		ctx, cancel := context.WithCancel(t.Context())
		first := w.ask(ctx, "alice")
		f := l.expectAsked("alice")
		cancel()
		if r := <-first; !errors.Is(r.err, context.Canceled) {
			t.Errorf("got %v", r.err)
		}
		second := w.ask(t.Context(), "bob")
		g := l.expectAsked("bob")
		l.send(&protocol.PresenceList{ID: f.ID, Users: []protocol.UserPresence{seen("alice", protocol.Online)}})
		l.send(&protocol.PresenceList{ID: g.ID, Users: []protocol.UserPresence{seen("bob", protocol.Offline)}})
		if r := <-second; r.err != nil || len(r.list) != 1 || r.list[0].User != "bob" {
			t.Errorf("got %+v %v", r.list, r.err)
		}
		third := w.ask(t.Context(), "carol")
		l.expectAsked("carol")
		w.stop()
		if r := <-third; !errors.Is(r.err, ErrStopped) {
			t.Errorf("a question that the end overtook: %v", r.err)
		}
		synctest.Wait()
	})
}

func TestPresenceChecksItsUsers(t *testing.T) {
	c, err := New(Options{Servers: []string{"one:7400"}, Device: "phone", Token: func(context.Context, bool) ([]byte, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		users []string
		want  error
	}{
		{nil, errUsers},
		{numbered(1, protocol.MaxPresenceUsers+1), errUsers},
		{[]string{"alice", ""}, errUserID},
		{numbered(1, protocol.MaxPresenceUsers), ErrStopped},
	} {
		if _, err := c.Presence(t.Context(), tt.users); !errors.Is(err, tt.want) {
			t.Errorf("%d users: got %v, want %v", len(tt.users), err, tt.want)
		}
	}
}
